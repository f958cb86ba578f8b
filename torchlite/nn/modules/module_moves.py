"""Changing the dtype and device of a module's parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from ... import __future__ as future
from ...autograd.grad_mode import no_grad
from ...core.declare import Signature, refusal
from ...core.values import DeviceLike, warn
from ...core.values.device import device as Device
from ...operations.making.factories import empty_like
from ...utils.swapping import swap_tensors
from ..parameter import Parameter

_HOW = "bool non_blocking=False, bool copy=False, *, MemoryFormat? memory_format=None"
_TO = [
    Signature(f"to(Device? device=None, ScalarType? dtype=None, {_HOW})"),
    Signature(f"to(ScalarType dtype, {_HOW})"),
    Signature(f"to(Tensor tensor, {_HOW})"),
]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, `non_blocking` and memory format that the arguments of `to` ask for."""
    for signature in _TO:
        values = signature.bind(args, kwargs, must=False) if signature.fits(args, kwargs, False) else None
        if values is not None:
            *what, non_blocking, copy, format_ = values
            if copy:
                raise RuntimeError(".to() does not accept copy argument")
            if len(what) == 1:
                what = [None, what[0]] if signature is _TO[1] else [what[0].device, what[0].dtype]
            return what[0], what[1], non_blocking, format_
    raise refusal("to", _TO, args, kwargs, False)


def _exchangeable(old: Any, new: Any) -> bool:
    """Whether `old` may get the data of `new` and stay the same object."""
    return old.is_meta == new.is_meta


class ModuleMoves:
    """How a module is converted. Its parameters stay the same objects wherever they can."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def _apply(self: Any, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Put what `fn` makes of each parameter, gradient and buffer in its place."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._convert(name, parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _convert(self, name: str, parameter: Any, fn: Callable[[Any], Any]) -> None:
        with no_grad():  # the result is a leaf
            made = fn(parameter)
        keep = not future.get_overwrite_module_params_on_conversion()
        grad = parameter.grad
        if future.get_swap_module_params_on_conversion():
            result = parameter
            self._swap(name, parameter, made)
        elif keep and _exchangeable(parameter, made):
            parameter.data = made
            result = parameter
        else:
            result = self._parameters[name] = Parameter(made, parameter.requires_grad)
        if grad is not None:
            with no_grad():
                made = fn(grad)
            if keep and result is parameter and _exchangeable(grad, made):
                grad.data = made
                result.grad = grad  # which swapping took away
            else:
                result.grad = made.requires_grad_(grad.requires_grad)

    def _swap(self, name: str, parameter: Any, made: Any) -> None:
        parameter.grad = None
        try:
            swap_tensors(parameter, Parameter(made, parameter.requires_grad))
        except RuntimeError as error:
            raise RuntimeError(f"_apply(): Couldn't swap {type(self).__name__}.{name}") from error

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Change dtype, device or memory format: `to(device, dtype)`, `to(dtype)`, `to(tensor)`."""
        where, dtype, non_blocking, format_ = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warn(
                    "Complex modules are a new feature under active development whose design may change, and some "
                    "modules might not work as expected when using complex tensors as parameters or buffers. Please "
                    "file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a "
                    "complex module does not work as expected."
                )

        def convert(t: Any) -> Any:
            floating = t.is_floating_point() or t.is_complex()
            named = {"memory_format": format_} if format_ is not None and t.dim() in (4, 5) else {}
            try:
                return t.to(where, dtype if floating else None, non_blocking, **named)
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    "from meta to a different device."
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device: DeviceLike, recurse: bool = True) -> Self:
        """Move to a device, with whatever values the memory there holds."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Change the dtype of all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Change all floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Change all floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Change all floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Change all floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: DeviceLike = None) -> Self:
        """Move to a CUDA device."""
        if device is not None and Device(device).type != "cuda":
            raise RuntimeError("Invalid device, must be cuda device")
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: DeviceLike = None) -> Self:
        """Move to an XPU device."""
        return self._apply(lambda t: t.xpu(device))

    def ipu(self, device: DeviceLike = None) -> Self:
        """Move to an IPU device."""
        return self._apply(lambda t: t.ipu(device))

    def mtia(self, device: DeviceLike = None) -> Self:
        """Move to an MTIA device."""
        return self._apply(lambda t: t.mtia(device))

    def share_memory(self) -> Self:
        """Move to memory that other processes share."""
        return self._apply(lambda t: t.share_memory_())
