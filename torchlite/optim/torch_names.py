"""What optimizers written elsewhere import from `torch.optim.optimizer` to make their steps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import grad_enabled
from ..core.machine import Tensor, functions
from ..core.values import dt
from ..utils._foreach_utils import _get_foreach_kernels_supported_devices, _get_fused_kernels_supported_devices
from .flat_arrays import scalar_dtype

_params_doc = "params: tensors, pairs of names and tensors, or groups of such with options of their own"
_foreach_doc = "foreach: whether a step works on lists of tensors"
_fused_doc = "fused: whether a step is one kernel"
_maximize_doc = "maximize: whether to go up the gradient"
_capturable_doc = "capturable: whether steps can be captured in a graph of an accelerator"
_differentiable_doc = "differentiable: whether steps are recorded for autograd"


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """For a step: record it if the optimizer is `differentiable`, and not otherwise."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """Nothing is compiled, so functions stay as they are."""
    return lambda func: func


def _get_value(x: Any) -> Any:
    """A number, also where it was given as a tensor."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """Numbers stay a list of numbers, since nothing is compiled."""
    return x


def _to_scalar(x: Any) -> Any:
    """A tensor without its dimensions of size one; a number as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x


def _get_scalar_dtype(is_fused: bool | None = None) -> dt.dtype:
    """The dtype of counts of steps."""
    return dt.float32 if is_fused else scalar_dtype()


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Put the parts of complex parameters, and of what belongs to them, in their place in the lists."""
    for i, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = functions["view_as_real"](tensors[i])


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The types of devices on which `capturable` means something."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(
    params: Sequence[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether a step is to be fused, or to work on lists, where the user did not say."""
    if differentiable:
        return False, False
    fused = use_fused and all(
        p is None or (p.device.type in _get_fused_kernels_supported_devices() and p.is_floating_point()) for p in params
    )
    lists = all(p is None or p.device.type in _get_foreach_kernels_supported_devices() for p in params)
    return fused, not fused and lists
