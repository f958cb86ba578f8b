"""`torch._C._nn`: operators that modules are made of, by their own names, and the reading of what `to` is given."""

from __future__ import annotations

from typing import Any

from ..core.declare import aten
from ..core.machine import functions
from ._lacking import OF_MODULES


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, `non_blocking` and memory format that the arguments of `Module.to` ask for."""
    from ..nn.modules.module_moves import _parse_to as parse

    return parse(*args, **kwargs)


def __getattr__(name: str) -> Any:
    from ..nn import functional

    for table in (functions, aten, vars(functional), OF_MODULES):
        if name in table:
            return table[name]
    raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
