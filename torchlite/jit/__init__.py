"""`torch.jit`. There is no TorchScript here: what is to be scripted or traced runs as it is, in Python."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

from ..core.values import Told
from ..faces import later
from ..futures import Future
from ..nn.modules.module import Module
from ._instances import isinstance

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "Future", "ScriptFunction", "ScriptModule", "annotate",
    "enable_onednn_fusion", "export", "export_opnames", "fork", "freeze", "interface", "ignore", "isinstance", "load",
    "onednn_fusion_enabled", "optimize_for_inference", "save", "script", "script_if_tracing", "set_fusion_strategy",
    "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip

_T = TypeVar("_T")


class Error(Told, RuntimeError):
    """What TorchScript raises."""


JITException = Error


class TracerWarning(Warning):
    """What tracing warns of."""


class ScriptWarning(Warning):
    """What scripting warns of."""


class ScriptModule(Module):
    """A module of TorchScript; here, a module."""


RecursiveScriptModule = ScriptModule


class ScriptFunction:
    """A function of TorchScript, of which there are none."""


class Attribute(NamedTuple):
    """A value with its type."""

    value: Any
    type: Any


# ---- what passes things through


def script(obj: Any, optimize: None = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """`obj` itself: a function, a module or a class."""
    if not callable(obj):
        raise TypeError(f"{type(obj)} is a built-in class")
    return obj


def trace(
    func: Callable[..., Any], example_inputs: Any = None, optimize: None = None, check_trace: bool = True,
    check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True,
    example_kwarg_inputs: dict[str, Any] | None = None, **_: Any,
) -> Any:  # fmt: skip
    """`func` itself, a function or a module, which is called once with the example."""
    args = example_inputs if builtins.isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    if example_kwarg_inputs is not None:
        func(**example_kwarg_inputs)
    else:
        func(*args)
    return func


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """`mod` itself, whose methods are called once with the examples."""
    for name, example in inputs.items():
        trace(getattr(mod, name), example)
    return mod


def script_if_tracing(fn: _T) -> _T:
    return fn


_script_if_tracing = script_if_tracing


def script_method(fn: _T) -> _T:
    return fn


def interface(obj: _T) -> _T:
    return obj


def export(fn: _T) -> _T:
    return fn


def unused(fn: _T) -> _T:
    return fn


_overload = _overload_method = unused


def ignore(drop: Any = False, **_: Any) -> Any:
    """A decorator, with or without arguments, that leaves a function as it is."""
    return drop if callable(drop) else lambda fn: fn


def freeze(mod: _T, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> _T:
    """`mod` itself, which must be in evaluation mode."""
    if getattr(mod, "training", False):
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on "
            "your module before freezing."
        )
    return mod


def optimize_for_inference(mod: _T, other_methods: list[str] | None = None) -> _T:
    return mod


def annotate(the_type: Any, the_value: _T) -> _T:
    """The value."""
    return the_value


# ---- questions and settings


def is_scripting() -> bool:
    """Whether the code that asks is TorchScript."""
    return False


def is_tracing() -> bool:
    return False


def enable_onednn_fusion(enabled: bool) -> None: ...


def onednn_fusion_enabled() -> bool:
    return False


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Nothing; the strategy before."""
    return [("STATIC", 2), ("DYNAMIC", 10)]


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    yield


class strict_fusion:
    """A `with` inside which all would be fused."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


# ---- work beside


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """The future of a call, which is made at once."""
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future) -> Any:
    """The result of `fork`."""
    return future.wait()


# ---- what cannot be done


def _none(what: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"torchlite has no TorchScript, and so cannot {what}: {instead}")


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Refuse: there is no program to write down."""
    _none("save it", "save `module.state_dict()` with torch.save")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Refuse: a TorchScript program cannot be run. Its weights can be had from PyTorch with `state_dict`."""
    _none("load it", "build the module in Python and load its state_dict")


def export_opnames(m: Any) -> NoReturn:
    _none("name the operators of a program", "the module is plain Python")


def _get_trace_graph(f: Callable[..., Any], args: Any = (), kwargs: Any = None, *_: Any, **__: Any) -> NoReturn:
    _none("trace it", "nothing writes down what a function does")


class CompilationUnit:
    """A piece of TorchScript."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            _none("compile its source", "write the functions in Python")


__getattr__ = later(__name__)
