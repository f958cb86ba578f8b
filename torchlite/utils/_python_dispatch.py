"""`torch.utils._python_dispatch`: modes that see every operation below autograd, and take its place if they like."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._library.dispatched import (
    factory_call,
    given_to,
    out_call,
    overload_in_place,
    overload_named,
    parts_of,
    reads_bits,
    seen,
)
from .._library.handlers import handler_for
from .._library.instances import Unasked, call_classes, declined, show_memory_of, take_form_of, types_among
from .._ops import Tag, overload_of
from ..core.machine import Tensor, computed
from ..core.state import Mode, Seer, Switch, handling, local

__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "_disable_current_modes", "_get_current_dispatch_mode",
    "_get_current_dispatch_mode_stack", "_pop_mode", "_pop_mode_temporarily", "_push_mode",
    "any_torch_dispatch_mode_on_stack", "is_in_any_mode_without_ignore_compile_internals",
    "is_in_torch_dispatch_mode", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing", "transform_subclass",
]  # fmt: skip


class _Level(Seer):
    """What the thread's mode asks to run operations: a dispatch mode, and what was asked before it was entered."""

    everything = True

    def __init__(self, mode: TorchDispatchMode, below: Any) -> None:
        self.mode, self.below = mode, below
        # The function made of operations, in which PyTorch calls these with plain numbers, that runs.
        self.inside: Callable[..., Any] | None = None
        self.left: Any = None  # the backward pass whose formula waits while a program's function runs

    def program(self, f: Callable[..., Any], values: Sequence[Any]) -> Any:
        before = self.inside, self.left
        self.inside, self.left = None, local.state.task
        try:
            return f(*values)
        finally:
            self.inside, self.left = before

    def composite(self, f: Callable[..., Any], values: Sequence[Any]) -> Any:
        before, self.inside = self.inside, f
        try:
            return f(*values)
        finally:
            self.inside = before

    def __call__(self, op: Any, values: Sequence[Any], compute: Callable[[], Any] | None = None) -> Any:
        name, overload, args, kwargs = seen(op, values)
        return self.call(overload_of(op, name, overload), args, kwargs)

    def parts(self, op: Any, values: Sequence[Any]) -> Callable[[], Any] | None:
        found = parts_of(op, values)
        return None if found is None else functools.partial(self.composite, found, ())

    def reads(self, op: Any, values: Sequence[Any]) -> bool:
        return reads_bits(op, values)

    def together(self, name: str, overload: str, signature: Any, values: Sequence[Any]) -> Any:
        given = values if name.endswith("_") else computed(list(values))
        return self.call(overload_named(name, overload), *given_to(signature, given))

    def write(self, op: Any, values: Sequence[Any]) -> None:
        name, overload, args, kwargs = seen(op, values)
        self.call(overload_in_place(name, overload), args, kwargs)

    def out(self, op: Any, out: Any, values: Sequence[Any]) -> None:
        func, args, kwargs = out_call(op, values if reads_bits(op, values) else computed(list(values)))
        target = computed(out)
        self.call(func, args, {**kwargs, "out": target})
        if target is not out:
            out.copy_(target)

    def factory(self, factory: Any, values: Sequence[Any]) -> Any:
        name, overload, args, kwargs = factory_call(factory, values)
        made = self.call(overload_named(name, overload), args, kwargs)
        requires_grad = values[factory.own + 4]
        return made.requires_grad_() if requires_grad else made

    def lifted(self, t: Tensor) -> Any:
        return self.call(overload_named("lift_fresh", "default"), (t,), {})

    def number_of(self, t: Tensor) -> Any:
        return self.call(overload_named("_local_scalar_dense", "default"), (computed(t),), {})

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the handler makes of a call; what it declines is for those below it."""
        state = local.state
        types = types_among(args, kwargs)
        below = handling(state.mode, self.below)
        handler = handler_for(func, self.mode) or self.mode.__torch_dispatch__
        made = state.within(below, handler, func, types, args, kwargs)
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

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        """An instance, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode belongs to the machinery of PyTorch's compiler."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Whether what a compiler does is hidden from the mode."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


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


class _DisableTorchDispatch(Switch):
    """Inside, neither modes nor the classes of tensors are asked: operations run on what memory there is."""

    switches = ("kernels",)

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(kernels=Unasked())


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
    """What a handler gives: results of views share the memory of their operand, writes give what was written to."""
    schema = func._schema
    written = [a.alias_info is not None and a.alias_info.is_write for a in schema.arguments]
    if not any(written):
        if func.is_view and args and isinstance(args[0], Tensor):
            for t in out if isinstance(out, (list, tuple)) else (out,):
                show_memory_of(args[0], t)
        return out
    given = [*args, *[(kwargs or {}).get(a.name) for a in schema.arguments[len(args) :]]]
    found = [value for value, writes in zip(given, written, strict=False) if writes]
    if Tag.inplace_view in func.tags and isinstance(out, Tensor):
        take_form_of(out, found[0])
    return found[0] if len(found) == 1 or not isinstance(out, (list, tuple)) else tuple(found)


def transform_subclass(t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """A tensor made of `callback(name, tensor)` of all that `t` is made of."""
    size = outer_size if outer_size is not None else t.size()
    stride = outer_stride if outer_stride is not None else t.stride()
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    if made.shape != size:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to {size}, but got: "
            f"{made.shape}"
        )
    return made


# ---- the stack by hand


def _push_mode(mode: TorchDispatchMode) -> None:
    """Put a mode on, without a context."""
    state = local.state
    state.mode = mode._inside(state.mode)


def _pop_mode(k: Any = None) -> TorchDispatchMode:
    """Take the innermost mode off."""
    state = local.state
    level = state.mode.kernels
    if not isinstance(level, _Level):
        raise AssertionError("there is no mode to take off")
    state.mode = state.mode.but(kernels=level.below)
    return level.mode


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[TorchDispatchMode]:
    """Inside, the innermost mode is off."""
    mode = _pop_mode(k)
    try:
        yield mode
    finally:
        _push_mode(mode)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is on."""
    stack = _get_current_dispatch_mode_stack()
    return any(include_infra_modes or not mode.is_infra_mode() for mode in stack)


_is_in_torch_dispatch_mode = is_in_torch_dispatch_mode


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether a mode is on that compilers must heed."""
    return any(not mode.ignore_compile_internals() for mode in _get_current_dispatch_mode_stack())


def any_torch_dispatch_mode_on_stack() -> bool:
    return bool(_get_current_dispatch_mode_stack())


def _len_torch_dispatch_stack() -> int:
    return len(_get_current_dispatch_mode_stack())


def _get_dispatch_stack_at(i: int) -> TorchDispatchMode:
    return _get_current_dispatch_mode_stack()[i]


_push_on_torch_dispatch_stack, _pop_torch_dispatch_stack = _push_mode, _pop_mode
