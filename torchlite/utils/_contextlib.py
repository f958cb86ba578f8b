"""`torch.utils._contextlib`: context managers that decorate functions and generators too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..autograd.grad_mode import _Decorating as _DecoratorContextManager

__all__ = ["context_decorator"]


class _Made(_DecoratorContextManager):
    """A decorator by contexts that a function makes, one for each call."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.clone = make  # type: ignore[method-assign]


def context_decorator(ctx: AbstractContextManager[Any] | Callable[[], Any], func: Callable[..., Any]) -> Any:
    """`func`, run in a context: the one that is given, or the one that `ctx()` makes for each call."""
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have "
            "the context manager applied; additionally, decorating a class at definition-site will prevent use of the "
            "identifier as a conventional type.  To specify which methods to decorate, decorate each of them "
            "individually."
        )
    return _Made(ctx if callable(ctx) else lambda: ctx)(func)
