"""The native build: `native` is the extension module, or None where it was not built or is not wanted.

The variable TORCHLITE_NATIVE says so: 0 for the pure package, `required` where nothing else will do.
"""

from __future__ import annotations

import importlib
import os
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F")


def _load() -> Any:
    wanted = os.environ.get("TORCHLITE_NATIVE", "")
    if wanted == "0":
        return None
    try:
        return importlib.import_module("._native", __package__)
    except ImportError:
        if wanted == "required":
            raise
        return None


native: Any = _load()
FUNCTIONS: tuple[type, ...] = (FunctionType,) if native is None else (FunctionType, native.function)
build = "pure Python" if native is None else f"native, by {native.compiler}"


def named(made: Any, general: Any) -> Any:
    """A native callable, with the name and the text of the function in Python that it stands for."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(general, name))
    return made


def in_c(name: str, general: F) -> F:
    """A kernel in C that leaves to `general`, its twin, what it does not know; or that one, where there is none."""
    return native.Kernel(name, general) if native is not None and name in native.kernels else general


def quick(general: Any, name: str = "") -> Any:
    """A function or property whose plain cases the native build answers, under its name."""
    if native is None:
        return general
    if isinstance(general, property):
        return native.quick(general, general.fget.__name__)  # type: ignore[union-attr]
    return named(native.quick(general, name or general.__name__), general)


def quicken(cls: type, *names: str) -> None:
    """Let methods and properties of a class be `quick`."""
    for name in names:
        setattr(cls, name, quick(vars(cls)[name]))
