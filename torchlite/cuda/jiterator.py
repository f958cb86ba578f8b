"""`torch.cuda.jiterator`: elementwise functions written in CUDA C++, compiled when they are first called."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from ..core.machine import Tensor, result_type
from ..operations.making.host_data import as_tensor

__all__: list[str] = []

_HEAD = re.compile(
    r"\s*template\s*<\s*typename\s+(?P<type>\w+)\s*>\s*(?:\w+)\s+(?P<name>\w+)\s*\(.*?\)\s*\{", re.DOTALL
)
_MOST = 8  # tensors that PyTorch takes


class _JittedFunction:
    """A function template over the type of the elements, applied to each place of tensors of one size."""

    def __init__(self, code_string: str, return_by_ref: bool, num_outputs: int, **kwargs: Any) -> None:
        head = _HEAD.match(code_string)
        if head is None:
            raise Exception(f"Couldn't parse code, please check correctness:\n {code_string}")
        from . import is_available

        self.code_string = code_string
        self.return_by_ref = return_by_ref
        self.num_outputs = num_outputs
        self.kernel_name = head["name"]
        self.kwargs_dict = kwargs
        self.is_cuda_available = is_available()

    @cached_property
    def _kernels(self) -> dict[int, Any]:
        return {}

    def __call__(self, *tensors: Tensor, **kwargs: Any) -> Any:
        if not self.is_cuda_available:
            raise AssertionError("Jiterator is only supported on CUDA and ROCm GPUs, none are available.")
        if len(tensors) > _MOST:
            raise AssertionError(f"jiterator only supports up to {_MOST} tensor inputs.")
        for name in kwargs:
            if name not in self.kwargs_dict:
                raise KeyError(f"{name} is not declared in function definition")
        if len(tensors) not in self._kernels:
            self._kernels[len(tensors)] = self._compiled(len(tensors))
        common = result_type(*tensors)
        numbers = (self.kwargs_dict | kwargs).values()
        made = self._kernels[len(tensors)](*[t.detach().to(common)._array for t in tensors], *numbers)
        return as_tensor(made) if self.num_outputs == 1 else tuple(map(as_tensor, made))

    def _compiled(self, count: int) -> Any:
        import cupy

        given, results = [f"x{i}" for i in range(count)], [f"y{i}" for i in range(self.num_outputs)]
        numbers = [f"T({name})" for name in self.kwargs_dict]
        parameters = [f"T {x}" for x in given] + [f"{_kind(n)} {name}" for name, n in self.kwargs_dict.items()]
        call = f"{self.kernel_name}<T>({', '.join(given + numbers + results * self.return_by_ref)})"
        return cupy.ElementwiseKernel(
            ", ".join(parameters),
            ", ".join(f"T {y}" for y in results),
            call if self.return_by_ref else f"y0 = {call}",
            f"torchlite_jiterator_{self.kernel_name}",
            preamble=self.code_string,
        )


def _kind(number: Any) -> str:
    return {bool: "bool", int: "int64", complex: "complex128"}.get(type(number), "float64")


def _create_jit_fn(code_string: str, **kwargs: Any) -> Callable[..., Any]:
    """A function of tensors on CUDA devices from a C++ template; what else it takes has defaults here."""
    return _JittedFunction(code_string, return_by_ref=False, num_outputs=1, **kwargs)


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> Callable[..., Any]:
    """The same of a template that returns nothing and takes references to its results last."""
    return _JittedFunction(code_string, return_by_ref=True, num_outputs=num_outputs, **kwargs)
