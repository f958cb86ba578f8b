"""Tensors that say they are on a device and have the form of their results alone: meta tensors in disguise."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from .._library.dispatched import overload_named
from .._library.instances import types_among
from .._ops import Operator
from ..core.machine import Tensor
from ..core.state import local
from ..core.values import dt
from ..core.values.device import device
from ..nn.parameter import Parameter
from ..operations.making.factories import empty_strided, zeros_like
from ..utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode_stack
from ..utils._pytree import tree_leaves, tree_map, tree_map_only

__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorConverter",
    "FakeTensorMode", "UnsupportedFakeTensorException", "UnsupportedOperatorException", "active_fake_mode",
    "detect_fake_mode", "is_fake",
    "maybe_get_fake_mode", "unset_fake_temporarily",
]  # fmt: skip


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor of which there is no fake."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _OfOperator(RuntimeError):
    def __init__(self, func: Callable[..., Any]) -> None:
        super().__init__(func)
        self.func = func


class DynamicOutputShapeException(_OfOperator):
    """The form of an operator's result depends on values."""


class DataDependentOutputException(_OfOperator):
    """An operator's result is a value."""


class UnsupportedOperatorException(_OfOperator):
    """There is no fake kernel for an operator."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Tensors of several devices meet."""


@dataclass
class MetadataMismatchError(RuntimeError):
    """A fake has another form than what it stands for."""

    reason: str

    __str__ = RuntimeError.__str__


# Operators whose results' forms follow from values.
_DYNAMIC = frozenset(("nonzero", "masked_select", "unique_dim", "unique_consecutive", "_unique2", "bincount"))
_VALUES = frozenset(("_local_scalar_dense", "equal", "allclose", "is_nonzero"))


class FakeTensor(Tensor):
    """A tensor of a device that has a form and no values."""

    elem: Tensor
    fake_mode: FakeTensorMode
    constant: Tensor | None = None  # the tensor that it stands for, where the program wrote down its one number
    fake_device: device
    _mode_key: ClassVar[str] = "fake"

    def __new__(cls, fake_mode: FakeTensorMode, elem: Tensor, device_: Any, **_: Any) -> Any:
        """A fake on `device_` of the form of `elem`, a meta tensor."""
        where = device(device_)
        if where.index is None and where.type not in ("cpu", "meta"):
            where = device(where.type, 0)
        backend = where if where.type in ("cpu", "meta") else "meta"  # a device that may not be there
        made = Tensor._make_wrapper_subclass(
            cls, elem.shape, strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
            device=backend, requires_grad=elem.requires_grad,
        )  # fmt: skip
        made.__dict__.update(elem=elem.detach(), fake_mode=fake_mode, fake_device=where)
        return made

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        return fake_mode.from_tensor(t)

    @property
    def device(self) -> device:
        """The device that it says it is on."""
        return self.__dict__["fake_device"]

    names: ClassVar[Any] = property(lambda self: (None,) * self.dim())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        where = f"device='{self.fake_device}', " if self.fake_device.type != "cpu" else ""
        d = "" if self.dtype.is_floating_point and self.dtype.itemsize == 4 else f", dtype={self.dtype}"
        history = self.grad_fn
        told = f", grad_fn=<{history.name()}>" if history is not None else ", requires_grad=True"
        return f"FakeTensor(..., {where}size={tuple(self.shape)}{d}{told if self.requires_grad else ''})"

    __str__ = __repr__

    def tolist(self) -> Any:
        return [t.tolist() for t in self.unbind()] if self.dim() else self.item()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        with _disable_current_modes():
            made = memo[id(self)] = FakeTensor(self.fake_mode, self.elem.clone(), self.fake_device)
            return made.requires_grad_(self.requires_grad)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run in the mode of the arguments."""
        if func.__name__ == "detach.default" and type(args[0]) is FakeTensor:
            return FakeTensor(args[0].fake_mode, args[0].elem, args[0].fake_device)
        mode = next(t.fake_mode for t in tree_leaves((args, kwargs)) if isinstance(t, FakeTensor))
        with mode:
            return func(*args, **(kwargs or {}))


class FakeTensorConverter:
    """Makes fakes of tensors, one of each."""

    def __init__(self, **_: Any) -> None:
        self.known: weakref.WeakValueDictionary[int, FakeTensor] = weakref.WeakValueDictionary()
        self.originals: dict[int, Any] = {}

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Tensor, **_: Any) -> FakeTensor:
        known = self.known.get(id(t))
        if known is not None and self.originals[id(t)]() is t:
            return known
        if t.layout.__repr__() != "torch.strided":
            raise UnsupportedFakeTensorException("fake tensors are strided")
        with _disable_current_modes():
            elem = empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
            made = FakeTensor(fake_mode, elem, t.device)
            if t.requires_grad:
                made._require_grad(True)
            if isinstance(t, Parameter):
                made._is_param = True
        self.known[id(t)], self.originals[id(t)] = made, weakref.ref(t)
        return made


class FakeTensorMode(TorchDispatchMode):
    """Inside, operations make fakes, and run on their forms alone."""

    def __init__(self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False,
                 shape_env: Any = None, static_shapes: bool | None = None, **_: Any) -> None:  # fmt: skip
        super().__init__()
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env, self.static_shapes = shape_env, static_shapes if static_shapes is not None else True
        self.fake_tensor_converter = FakeTensorConverter()
        self.in_kernel_invocation = False
        self.entered: list[bool] = []

    def is_our_fake(self, t: Any) -> bool:
        return isinstance(t, FakeTensor) and t.fake_mode is self

    def __enter__(self) -> Any:
        self.entered.append(self not in _get_current_dispatch_mode_stack()[-1:])
        if self.entered[-1]:
            super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> Any:
        return super().__exit__(*exception) if self.entered.pop() else None

    def from_tensor(self, tensor: Tensor, **_: Any) -> FakeTensor:
        """The fake of a tensor."""
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        return self.fake_tensor_converter.from_real_tensor(self, tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        leaves = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        if any(not isinstance(t, FakeTensor) for t in types_among(leaves, {}) if not issubclass(t, FakeTensor)):
            return NotImplemented
        if func._opname == "lift_fresh":
            made = self.from_tensor(args[0])
            made.constant = args[0].clone() if args[0].numel() == 1 and args[0].device.type == "cpu" else None
            return made
        self._refuse(func, leaves, (*args, *kwargs.values()))
        known = self._of_constants(func, leaves, args, kwargs)
        if func._opname == "_local_scalar_dense" and known is not None:
            return known
        if func._opname in _DYNAMIC:
            raise DynamicOutputShapeException(func)
        if func._opname == "repeat_interleave" and len(args) == 1 and kwargs.get("output_size") is None:
            raise DynamicOutputShapeException(func)
        if func._opname == "index" and any(t.dtype is dt.bool_ for t in leaves[1:]):
            raise DynamicOutputShapeException(overload_named("nonzero", "default"))
        if func._opname in _VALUES:
            raise DataDependentOutputException(func)
        if isinstance(func, Operator) and func.checked is None and "meta" not in func.kernels and func.whole is None:
            raise UnsupportedOperatorException(func)
        where = self._device(func, leaves, kwargs)
        given: dict[int, Tensor] = {}

        def inside(t: Tensor) -> Tensor:
            fake = t if isinstance(t, FakeTensor) else self.from_tensor(t)
            given[id(fake.elem)] = fake
            return fake.elem

        args, kwargs = tree_map_only(Tensor, inside, args), tree_map_only(Tensor, inside, kwargs)
        if "device" in kwargs or not leaves:
            kwargs["device"] = device("meta")
        try:
            made = func(*args, **kwargs)
        except NotImplementedError:  # where nothing tells the forms of results
            if not self.allow_fallback_kernels:
                raise UnsupportedOperatorException(func) from None
            made = _of_zeros(func, args, kwargs)
        for fake in given.values():
            fake._array.form = fake.__dict__["elem"]._array  # in which it was perhaps changed

        def outside(t: Any) -> Any:
            if not isinstance(t, Tensor):
                return t
            return given[id(t)] if id(t) in given else FakeTensor(self, t, where)

        results = tree_map(outside, made)
        if isinstance(results, FakeTensor) and id(results.elem) not in given:
            results.constant = known
        return results

    def _of_constants(self, func: Any, leaves: Sequence[Tensor], args: Any, kwargs: Any) -> Any:
        """What a call gives where all its tensors stand for numbers; others that it writes to stand for none then."""
        fakes = [t for t in leaves if isinstance(t, FakeTensor)]
        if fakes and all(t.constant is not None for t in fakes) and self.is_our_fake(fakes[0]):
            args, kwargs = tree_map_only(FakeTensor, lambda t: t.constant, (args, kwargs))
            made = func(*args, **kwargs)
            return made if not isinstance(made, Tensor) or (made.numel() == 1 and made.device.type == "cpu") else None
        if func._opname.endswith("_") and fakes:
            fakes[0].constant = None
        return None

    def _refuse(self, func: Callable[..., Any], leaves: Sequence[Tensor], given: Sequence[Any]) -> None:
        """Refuse tensors that are no fakes of this mode; numbers among them are constants."""
        for t in leaves:
            if isinstance(t, FakeTensor):
                if t.fake_mode is not self:
                    raise AssertionError("Mixing fake modes NYI")
            elif not self.allow_non_fake_inputs and t.dim():
                raise AssertionError(
                    f"Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                    f"'allow_non_fake_inputs'. Found in {func}({', '.join(map(_told, given))})"
                )

    def _device(self, func: Any, leaves: Sequence[Tensor], kwargs: dict[str, Any]) -> device:
        """The device that results say they are on."""
        if kwargs.get("device") is not None:
            return device(kwargs["device"])
        if func._opname == "copy_":
            return leaves[0].device
        found: device | None = None
        for t in sorted(leaves, key=lambda t: not t.dim()):
            if found is None or (t.dim() and t.device != found):
                if found is not None:
                    raise FakeTensorDeviceMismatchError(
                        f"Expected all tensors to be on the same device, but found at least two devices, {found} and "
                        f"{t.device}!"
                    )
                found = t.device
        return found or local.state.default_device or device("cpu")


def _of_zeros(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What an operator makes of zeros on the CPU, without its values."""
    with _disable_current_modes():
        args, kwargs = tree_map_only(Tensor, lambda t: zeros_like(t, device="cpu"), (args, kwargs))
        made = func(*args, **{word: "cpu" if word == "device" else value for word, value in kwargs.items()})
        return tree_map_only(Tensor, lambda t: t.to("meta"), made)


def _told(value: Any) -> str:
    """An argument in an error, without its values."""
    if isinstance(value, Tensor) and not isinstance(value, FakeTensor):
        return f"tensor([...], size={tuple(value.shape)})"
    return repr(value)


def maybe_get_fake_mode(t: Any) -> FakeTensorMode | None:
    """The mode of a fake."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


def _modes_on() -> list[FakeTensorMode]:
    """Those that are on, the innermost first."""
    return [each for each in reversed(_get_current_dispatch_mode_stack()) if isinstance(each, FakeTensorMode)]


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost of these modes that is on."""
    return next(iter(_modes_on()), None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The one mode that is on or that fakes among nested inputs are of."""
    found = [(mode, f"active fake mode {at} in the stack") for at, mode in enumerate(_modes_on())]
    for at, leaf in enumerate(tree_leaves(inputs)):
        if isinstance(leaf, FakeTensor):
            found.append((leaf.fake_mode, f"fake tensor input {at}"))
    for mode, where in found:
        if mode is not found[0][0]:
            raise AssertionError(
                f"fake mode ({found[0][0]}) from {found[0][1]} doesn't match mode ({mode}) from {where}"
            )
    return found[0][0] if found else None


def is_fake(x: Any) -> bool:
    """Whether a tensor is a fake."""
    return isinstance(x, FakeTensor)


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """Inside, no such mode is on."""
    with _disable_current_modes() as modes:
        yield next((m for m in modes if isinstance(m, FakeTensorMode)), None)
