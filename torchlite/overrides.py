"""`torch.overrides`: taking calls over with `__torch_function__`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from .core.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    dispatch,
    needs_dispatch,
)


def has_torch_function(relevant_args: Any) -> bool:
    """Whether any of these arguments, or a function mode, takes calls over."""
    return needs_dispatch(tuple(relevant_args), {})


def has_torch_function_unary(obj: Any) -> bool:
    return needs_dispatch((obj,), {})


def has_torch_function_variadic(*args: Any) -> bool:
    return needs_dispatch(args, {})


def handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Offer a call of `public_api` to whatever takes calls over."""
    return dispatch(public_api, args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether `inp` is a tensor or passes for one."""
    return hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether `func` belongs to Tensor rather than to a namespace."""
    from .core.tensor import Tensor

    return func in {getattr(Tensor, name, None) for name in dir(Tensor)} or getattr(func, "__name__", "") == "__get__"


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions that may be taken over by the arguments that `dispatcher` picks of a call's."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def resolve_name(f: Any) -> str | None:
    """The dotted name of a function that can be taken over."""
    name = getattr(f, "__name__", None)
    return None if name is None else f"torch.{name}"


__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode", "handle_torch_function",
    "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip
