"""Switches for recording: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np

from ..absent import loading
from ..core.machine import shared_counter
from ..core.native import named, native, quick
from ..core.state import GRAD, NO_GRAD, Context, Mode, SetAtOnce, State, Switch, local, with_grad
from ..core.values import warn

if TYPE_CHECKING:
    from .inert_switches import enforce_grad_layout_policy as enforce_grad_layout_policy

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

F = TypeVar("F", bound=Callable[..., Any])

_new = object.__new__
_INFERENCE = Mode(grad=False, inference=True)


class _Decorating:
    """A context manager that is a decorator too, for functions, generators and classes."""

    def clone(self) -> Any:
        """The context for one `with`. One may be entered again while it is, also by other threads."""
        return self

    def _call(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self.clone():
            return call(*args, **kwargs)

    def __call__(self, func: F) -> F:
        if inspect.isclass(func):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
            )
            cls: Any = func
            cls.__init__ = self(cls.__init__)
            return func
        if inspect.isgeneratorfunction(func):
            return self._generator(func)

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return self._call(func, args, kwargs)

        return wrapper  # type: ignore[return-value]

    def _generator(self, func: Callable[..., Any]) -> Any:
        """Each stretch between two yields runs inside the switch; what the caller does in between does not."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            generator = func(*args, **kwargs)
            send, value = generator.send, None
            while True:
                try:
                    with self.clone():
                        item = send(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    value = yield item
                    send = generator.send
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    send, value = generator.throw, error

        return wrapper


class _OptionalCall(Switch, _Decorating):
    """A switch of recording. It has no arguments, and may decorate with or without parentheses."""

    switches = ("grad",)
    plain: Mode  # inside a plain mode

    @overload
    def __new__(cls) -> Self: ...

    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]

    def __new__(cls, *orig_func: Any) -> Any:  # type: ignore[misc]
        if not orig_func:
            return _new(cls)
        (decorated,) = orig_func
        if decorated is None:
            raise TypeError(f"{cls.__name__}.__init__() takes 1 positional argument but 2 were given")
        return _new(cls)(decorated)

    def _inside(self, mode: Mode) -> Mode:
        return self.plain if mode.plain else with_grad(mode, self.plain.grad)

    def __enter__(self) -> None:  # as any switch, with one call less
        state = local.state
        outer = state.mode
        inner = self.plain if outer.plain else with_grad(outer, self.plain.grad)
        state.entered = self, state.entered, outer, inner
        state.mode = inner


class no_grad(_OptionalCall):
    """Inside, nothing is recorded, and results do not require grad."""

    plain = NO_GRAD


class enable_grad(_OptionalCall):
    """Inside, operations are recorded again."""

    plain = GRAD


if native is not None:
    _made = named(native.making(_OptionalCall.__new__), _OptionalCall.__new__)
    _OptionalCall.__new__ = staticmethod(_made)  # type: ignore[method-assign]
    for _cls in (no_grad, enable_grad):
        _enter = native.entering(_OptionalCall.__enter__, (_cls, _cls.plain))
        _cls.__enter__ = named(_enter, _OptionalCall.__enter__)  # type: ignore[method-assign]


def grad_enabled(enabled: bool) -> _OptionalCall:
    """`enable_grad` or `no_grad`. Unlike `set_grad_enabled`, it sets nothing before a `with` begins."""
    return enable_grad() if enabled else no_grad()


def _checked(switch: str, enabled: Any) -> bool:
    if not isinstance(enabled, (bool, np.bool_)):
        raise TypeError(f"{switch}(): argument 'enabled' (position 1) must be bool, not {type(enabled).__name__}")
    return bool(enabled)


class set_grad_enabled(SetAtOnce, _Decorating):
    """Turn recording on or off: at once, and inside a `with` until its end."""

    switches = ("grad",)

    def __init__(self, mode: bool) -> None:
        self.mode = self.enabled = mode if mode.__class__ is bool else _checked("set_grad_enabled", mode)
        super().__init__()

    def _inside(self, mode: Mode) -> Mode:
        return with_grad(mode, self.enabled)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def __call__(self, func: F) -> F:
        local.state.mode = self._outer
        return grad_enabled(self.enabled)(func)


class inference_mode(Switch, _Decorating):
    """Inside, nothing is recorded and tensors keep no version; they cannot enter a recorded computation later."""

    switches = ("inference", "grad")

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...

    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.enabled = mode

    def _inside(self, mode: Mode) -> Mode:
        if mode.plain:
            return _INFERENCE if self.enabled else GRAD
        return mode.but(inference=self.enabled, grad=not self.enabled)


class set_multithreading_enabled(Context, _Decorating):
    """Accepted for PyTorch's sake: a backward pass runs in the thread that asks for it, whatever this says."""

    def __init__(self, mode: bool) -> None:
        self.mode = _checked("set_multithreading_enabled", mode)
        self.outer = is_multithreading_enabled()
        local.state.multithreading = self.mode

    def _take(self, state: State) -> bool:
        return self.outer

    def _set(self, state: State, kept: bool) -> None:
        state.multithreading = self.mode

    def _put(self, state: State, kept: bool) -> None:
        state.multithreading = kept

    def clone(self) -> set_multithreading_enabled:
        return type(self)(self.mode)


def is_multithreading_enabled() -> bool:
    """Whether `set_multithreading_enabled` is on in this thread."""
    return local.state.multithreading


class _unsafe_preserve_version_counter(Context):
    """Writes inside are not counted: backward would then not notice that what it saved has changed."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = tuple(tensors) if isinstance(tensors, (tuple, list)) else (tensors,)

    def _take(self, state: State) -> list[int]:
        return [t._version for t in self.tensors]

    def _set(self, state: State, kept: list[int]) -> None:
        pass

    def _put(self, state: State, kept: list[int]) -> None:
        for t, version in zip(self.tensors, kept, strict=True):
            shared_counter(t).n = version


@quick
def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread; in a handler, whether what it stands for is."""
    mode = local.state.mode
    return mode.grad or bool(mode.handling)


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode` is on in this thread."""
    return local.state.mode.inference


_HOME = {"enforce_grad_layout_policy": ".inert_switches"}
__getattr__, __dir__ = loading(__name__, homes=_HOME)
