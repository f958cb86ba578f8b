"""`torch.nn.grad`: the gradients of convolutions, by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.machine import Tensor, functions
from ..operations.images.conv import convolution, convolution_backward
from .modules._sizes import for_each

Ints = int | tuple[int, ...]


def _gradient(
    grad_output: Tensor, input: Tensor, weight: Tensor, numbers: Sequence[Ints], groups: int, at: int
) -> Tensor:
    dims = weight.dim() - 2
    options = (*[for_each(n, dims) for n in numbers], False, (0,) * dims, groups)
    expected = convolution.apply(input.to("meta"), weight.to("meta"), None, *options).shape
    if grad_output.shape != expected:
        raise RuntimeError(f"Expected grad_output of size {list(expected)}, but got {list(grad_output.shape)}")
    mask = (at == 0, at == 1, False)
    return convolution_backward.apply(grad_output, input, weight, None, *options, mask)[at]


def _like(grad_output: Tensor, size: Sequence[int]) -> Tensor:
    """A tensor of which only the size matters."""
    return functions["empty"](1, dtype=grad_output.dtype, device=grad_output.device).expand(size)


def _declare(dims: int) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    def of_input(
        input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
        dilation: Ints = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        like = _like(grad_output, input_size)
        return _gradient(grad_output, like, weight, (stride, padding, dilation), groups, 0)

    def of_weight(
        input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
        dilation: Ints = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        like = _like(grad_output, weight_size)
        return _gradient(grad_output, input, like, (stride, padding, dilation), groups, 1)

    made: Any = (of_input, of_weight)
    for f, what in zip(made, ("input", "weight")):
        f.__name__ = f.__qualname__ = f"conv{dims}d_{what}"
        f.__doc__ = f"The gradient of `conv{dims}d` with respect to its {what}, of which only the size is needed."
    return made


conv1d_input, conv1d_weight = _declare(1)
conv2d_input, conv2d_weight = _declare(2)
conv3d_input, conv3d_weight = _declare(3)
