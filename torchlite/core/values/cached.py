"""`functools.cache` with the types of what it keeps the answers of: that one's own take no classes in mypy's eyes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def cached(f: F) -> F:
    """Ask once for each combination of arguments."""
    return functools.cache(f)  # type: ignore[return-value]
