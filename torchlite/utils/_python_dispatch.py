"""`torch.utils._python_dispatch`: modes that see every operation below autograd, and take its place if they like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._library.dispatched import factory_call, overload_named, parts_of, seen
from .._library.instances import call_classes, declined, types_among
from .._ops import overload_of
from ..core.machine import Tensor
from ..core.state import Mode, Switch, local, silent

__all__ = [
    "TorchDispatchMode", "_disable_current_modes", "_get_current_dispatch_mode", "_get_current_dispatch_mode_stack",
    "is_traceable_wrapper_subclass", "return_and_correct_aliasing",
]  # fmt: skip


class _Level:
    """What the thread's mode asks to run operations: a dispatch mode, and what was asked before it was entered."""

    everything = True  # views and writes too

    def __init__(self, mode: TorchDispatchMode, below: Any) -> None:
        self.mode, self.below = mode, below

    def __call__(self, op: Any, values: Sequence[Any], compute: Callable[[], Any] | None = None) -> Any:
        name, overload, args, kwargs = seen(op, values)
        return self.call(overload_of(op, name, overload), args, kwargs)

    parts = staticmethod(parts_of)

    def write(self, op: Any, values: Sequence[Any]) -> None:
        """The in-place form of an operation."""
        name, overload, args, kwargs = seen(op, values)
        self.call(overload_named(f"{name}_", overload), args, kwargs)

    def factory(self, factory: Any, values: Sequence[Any]) -> Any:
        """The call of a function that makes a tensor."""
        name, overload, args, kwargs = factory_call(factory, values)
        made = self.call(overload_named(name, overload), args, kwargs)
        requires_grad = values[factory.own + 4]
        return made.requires_grad_() if requires_grad else made

    def number_of(self, t: Tensor) -> Any:
        """The value of a tensor of one element."""
        return self.call(overload_named("_local_scalar_dense", "default"), (t,), {})

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the handler makes of a call; what it declines is for those below it."""
        state = local.state
        types = types_among(args, kwargs)
        below = silent(state.mode).but(kernels=self.below)
        made = state.within(below, self.mode.__torch_dispatch__, func, types, args, kwargs)
        if made is not NotImplemented:
            return made
        if isinstance(self.below, _Level):
            return self.below.call(func, args, kwargs)
        if types:
            return state.within(below, call_classes, func, args, kwargs)
        raise declined(func, [self.mode], types)


class TorchDispatchMode(Switch):
    """A context in which `__torch_dispatch__(func, types, args, kwargs)` is called in the place of each operation.

    `func` is an overload of `torch.ops`, below autograd; inside the handler the mode is off, and those around it on.
    """

    switches = ("kernels",)

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._dispatch_key = _dispatch_key

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(kernels=_Level(self, mode.kernels))

    def __enter__(self) -> Any:
        super().__enter__()
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        """An instance, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode belongs to the machinery of PyTorch's compiler."""
        return False


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The modes that are on, the innermost last."""
    found, level = [], local.state.mode.kernels
    while isinstance(level, _Level):
        found.append(level.mode)
        level = level.below
    return found[::-1]


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost mode that is on."""
    stack = _get_current_dispatch_mode_stack()
    return stack[-1] if stack else None


class _Without(Switch):
    switches = ("kernels",)

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(kernels=None)


@contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """Inside, no mode sees anything."""
    stack = _get_current_dispatch_mode_stack()
    with _Without():
        yield stack


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor's class says how to take its instances apart and put them together."""
    return isinstance(t, Tensor) and all(hasattr(t, f"__tensor_{how}__") for how in ("flatten", "unflatten"))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    return issubclass(t, Tensor) and all(hasattr(t, f"__tensor_{how}__") for how in ("flatten", "unflatten"))


def return_and_correct_aliasing(func: Any, args: Sequence[Any], kwargs: Any, out: Any) -> Any:
    """What a handler gives: for an operation that writes, the argument written to; else the results as they are."""
    return args[0] if func._opname.endswith("_") and not func._opname.endswith("__") else out

