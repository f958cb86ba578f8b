"""The functions that pipes are given."""

from __future__ import annotations

from typing import Any

from .....core.values import warn


def checked_function(fn: Any) -> Any:
    """A function that is to be called for each sample."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    local = "<locals>" in getattr(fn, "__qualname__", "")
    if local or getattr(fn, "__name__", "") == "<lambda>":
        warn(
            f"{'Local' if local else 'Lambda'} function is not supported by pickle, please use regular python function "
            "or functools.partial instead.",
        )
    return fn
