"""The parts of a DataLoader: fetching samples, making batches of them, and doing so in workers."""

from __future__ import annotations

import importlib
from typing import Any

from . import collate, fetch, pin_memory


def __getattr__(name: str) -> Any:
    """What workers need is loaded when they are: processes are not everywhere."""
    if name == "worker":
        return importlib.import_module(f"{__name__}.worker")
    if name == "MP_STATUS_CHECK_INTERVAL":
        return importlib.import_module(f"{__name__}.worker").MP_STATUS_CHECK_INTERVAL
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
