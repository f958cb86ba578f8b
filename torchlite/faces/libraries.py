"""Libraries that PyTorch may be built with: their switches, as variables of modules, and what is asked of them.

Nothing heeds the switches, since none of the libraries is called here; NumPy's linear algebra may be Intel's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal

import numpy as np

from ..core.state import HoldingItems

_frozen = False


def flags_frozen() -> bool:
    """Whether switches may only be set inside a `with` of `flags()`."""
    return _frozen


def disable_global_flags() -> None:
    """From now on switches may only be set inside a `with` of `flags()`."""
    global _frozen
    _frozen = True


def __allow_nonbracketed_mutation() -> HoldingItems:
    return HoldingItems(globals(), {"_frozen": False})


class _Switches(ModuleType):
    """A module whose switches can be frozen."""

    def __setattr__(self, name: str, value: Any) -> None:
        if _frozen and name in self.__dict__["_switches"]:
            shown = self.__name__.replace("torchlite", "torch", 1)
            raise RuntimeError(
                f"not allowed to set {shown} flags after disable_global_flags; please use flags() context manager "
                "instead"
            )
        super().__setattr__(name, value)


def freezable(module: dict[str, Any], names: frozenset[str]) -> None:
    """Let `disable_global_flags` freeze these variables of a module."""
    module["_switches"] = names
    sys.modules[module["__name__"]].__class__ = _Switches


def switches(module: dict[str, Any], **inside: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`set_flags` and `flags` of a module: what sets its variables, and what sets them for the time of a `with`.

    `inside` names the variables, and says how `flags` sets those that it is told nothing of.
    """

    def set_flags(*values: Any, **named: Any) -> tuple[Any, ...]:
        before = tuple(module[name] for name in inside)
        given = dict(zip(inside, values)) | {name.removeprefix("_"): value for name, value in named.items()}
        for name in given.keys() - inside.keys():
            raise TypeError(f"set_flags() got an unexpected keyword argument '_{name}'")
        module.update({name: value for name, value in given.items() if value is not None})
        return before

    def flags(*values: Any, **named: Any) -> HoldingItems:
        for name in named.keys() - inside.keys():
            raise TypeError(f"flags() got an unexpected keyword argument '{name}'")
        wanted = inside | dict(zip(inside, values)) | named
        return HoldingItems(module, {name: module[name] if v is None else v for name, v in wanted.items()})

    freezable(module, frozenset(inside))
    return set_flags, flags


# ---- what PyTorch has a module for each of

_fastpath = True


def get_fastpath_enabled() -> bool:
    """Whether `MultiheadAttention` may take its fast path, which gives the same here as the other."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    global _fastpath
    _fastpath = value


def has_mkl() -> bool:
    """Whether NumPy was built with MKL."""
    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return "mkl" in str(blas.get("name", "")).lower()


class verbose:
    """Would have the library tell what it does, for the time of a `with`; here it stays silent."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        return False


class Precision:
    """The precision of one kind of operation."""

    fp32_precision = "none"


conv, rnn = Precision(), Precision()


class _Choice:
    """Which library to prefer, by its name."""

    def __init__(self, known: tuple[str, ...], default: str) -> None:
        self.known, self.now = known, default

    def __call__(self, backend: str | None = None) -> str:
        if backend is not None:
            if backend not in self.known:
                raise RuntimeError(f"Unknown input value. Choose from: {', '.join(self.known)}.")
            self.now = backend
        return self.now


preferred_linalg_library = _Choice(("default", "cusolver", "magma"), "default")
preferred_blas_library = _Choice(("default", "cublas", "hipblas", "cublaslt", "hipblaslt", "ck"), "cublas")
