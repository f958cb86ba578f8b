"""Switches for recording: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

import numpy as np

from ..core.mode import Mode, left, local, with_grad
from ..core.node import shared_counter

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class _Switch:
    """A context manager that is a decorator too, for functions, generators and classes."""

    _outer: Mode

    def _enter(self, mode: Mode) -> Mode:
        raise NotImplementedError

    def clone(self) -> _Switch:
        """A switch to the same, for another `with`."""
        return type(self)()

    def __enter__(self) -> None:
        state = local.state
        self._outer = state.mode
        state.mode = self._enter(state.mode)

    def __exit__(self, *_: object) -> None:
        state = local.state
        state.mode = left(self._outer, state.mode)

    def __call__(self, func: Any) -> Any:
        if inspect.isclass(func):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            func.__init__ = self(func.__init__)
            return func
        if inspect.isgeneratorfunction(func):
            return self._generator(func)

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return func(*args, **kwargs)

        return wrapper

    def _generator(self, func: Any) -> Any:
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


class _OptionalCall(_Switch):
    """A switch without arguments, which may decorate with or without parentheses."""

    def __new__(cls, orig_func: Any = None) -> Any:
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)

    def __init__(self, orig_func: Any = None) -> None:
        pass


class no_grad(_OptionalCall):
    """Inside, nothing is recorded, and results do not require grad."""

    def _enter(self, mode: Mode) -> Mode:
        return with_grad(mode, False)


class enable_grad(_OptionalCall):
    """Inside, operations are recorded again."""

    def _enter(self, mode: Mode) -> Mode:
        return with_grad(mode, True)


def _checked(switch: str, enabled: Any) -> bool:
    if not isinstance(enabled, (bool, np.bool_)):
        raise TypeError(f"{switch}(): argument 'enabled' (position 1) must be bool, not {type(enabled).__name__}")
    return bool(enabled)


class set_grad_enabled(_Switch):
    """Turn recording on or off: at once, and inside a `with` until its end."""

    def __init__(self, mode: bool) -> None:
        self.mode = self.enabled = mode if mode.__class__ is bool else _checked("set_grad_enabled", mode)
        state = local.state
        self._outer = state.mode
        state.mode = with_grad(state.mode, self.enabled)

    def __enter__(self) -> None:
        state = local.state
        state.mode = with_grad(state.mode, self.enabled)

    def clone(self) -> _Switch:
        return type(self)(self.enabled)

    def __call__(self, func: Any) -> Any:
        local.state.mode = self._outer
        return super().__call__(func)


class inference_mode(_Switch):
    """Inside, nothing is recorded and tensors keep no version; they cannot enter a recorded computation later."""

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.enabled = mode

    def _enter(self, mode: Mode) -> Mode:
        return mode.but(inference=self.enabled, grad=not self.enabled)

    def clone(self) -> _Switch:
        return type(self)(self.enabled)


class set_multithreading_enabled(_Switch):
    """Accepted for PyTorch's sake: a backward pass runs in the thread that asks for it, whatever this says."""

    def __init__(self, mode: bool) -> None:
        self.mode = _checked("set_multithreading_enabled", mode)
        self.outer = is_multithreading_enabled()
        self.__enter__()

    def __enter__(self) -> None:
        local.state.multithreading = self.mode

    def __exit__(self, *_: object) -> None:
        local.state.multithreading = self.outer

    def clone(self) -> _Switch:
        return type(self)(self.mode)


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was told in this thread."""
    return local.state.multithreading


class _unsafe_preserve_version_counter:
    """Writes inside are not counted: backward would then not notice that what it saved has changed."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = tuple(tensors) if isinstance(tensors, (tuple, list)) else (tensors,)

    def __enter__(self) -> None:
        self.versions = [t._version for t in self.tensors]

    def __exit__(self, *_: object) -> None:
        for t, version in zip(self.tensors, self.versions, strict=True):
            shared_counter(t).n = version


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread."""
    return local.state.mode.grad


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode` is on in this thread."""
    return local.state.mode.inference


def __getattr__(name: str) -> Any:
    if name == "enforce_grad_layout_policy":
        from .. import autograd

        return getattr(autograd, name)
    raise AttributeError(f"torchlite has no torch.autograd.grad_mode.{name}")
