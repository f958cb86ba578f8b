"""Functions that a compiler would keep as one operation. They run as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, repr=True)
class InvokeQuant:
    """What calls a function on its arguments."""

    codegen_low_precision: bool = True

    def __call__(self, fn: Callable[..., Any], *args: Any, scheme: str | None = None) -> Any:
        return fn(*args)


def invoke_quant_packed(fn: Callable[..., Any], *args: Any) -> Any:
    """What a function gives of its arguments."""
    return fn(*args)
