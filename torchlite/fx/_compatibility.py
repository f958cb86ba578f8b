"""Marks of functions by whether they will stay as they are."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["compatibility"]

_T = TypeVar("_T")
_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}
_KEPT = "\n.. note::\n    Backwards-compatibility for this API is guaranteed.\n"
_TRIED = "\n.. warning::\n    This API is experimental and is *NOT* backward-compatible.\n"


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """A decorator that says in a function's text whether later versions will have it as it is."""

    def mark(fn: _T) -> _T:
        said = textwrap.dedent(getattr(fn, "__doc__", None) or "")
        fn.__doc__ = f"{said}\n{_KEPT if is_backward_compatible else _TRIED}"
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(fn)
        _MARKED_WITH_COMPATIBILITY.setdefault(fn)
        return fn

    return mark
