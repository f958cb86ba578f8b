"""Which packages there are, by asking the import system."""

from __future__ import annotations

import functools
import importlib.util
from types import ModuleType


def _check_module_exists(name: str) -> bool:
    """Whether a module can be found. The packages that it is in are imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@functools.cache
def dill_available() -> bool:
    return _check_module_exists("dill")


@functools.cache
def import_dill() -> ModuleType | None:
    """The package dill, which pickles more than pickle does; None where it is not installed."""
    return importlib.import_module("dill") if dill_available() else None
