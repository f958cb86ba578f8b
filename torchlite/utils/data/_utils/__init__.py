"""The parts of a DataLoader: fetching samples, making batches of them, and doing so in workers."""

from __future__ import annotations

import atexit
import importlib
from typing import Any

from . import collate, fetch, pin_memory

HAS_NUMPY = True
python_exit_status = False  # whether the interpreter is at its end


def _set_python_exit_flag() -> None:
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)


def __getattr__(name: str) -> Any:
    """What workers need is loaded when they are: processes are not everywhere."""
    if name in ("signal_handling", "worker"):
        return importlib.import_module(f"{__name__}.{name}")
    if name == "MP_STATUS_CHECK_INTERVAL":
        return importlib.import_module(f"{__name__}.worker").MP_STATUS_CHECK_INTERVAL
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
