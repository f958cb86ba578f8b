"""`torch._VF`: the functions of torch, by the name under which some programs know them."""

from __future__ import annotations

from typing import Any

from .core.machine import functions


def __getattr__(name: str) -> Any:
    try:
        return functions[name]
    except KeyError:
        raise AttributeError(f"module 'torch._VF' has no attribute '{name}'") from None
