"""The native build: `native` is the extension module, or None where it was not built or is not wanted.

The variable TORCHLITE_NATIVE says so: 0 for the pure package, `required` where nothing else will do.
"""

from __future__ import annotations

import os
from types import FunctionType
from typing import Any


def _load() -> Any:
    wanted = os.environ.get("TORCHLITE_NATIVE", "")
    if wanted == "0":
        return None
    try:
        from . import _native
    except ImportError:
        if wanted == "required":
            raise
        return None
    return _native


native: Any = _load()
FUNCTIONS: tuple[type, ...] = (FunctionType,) if native is None else (FunctionType, native.function)
build = "pure Python" if native is None else f"native, by {native.compiler}"
