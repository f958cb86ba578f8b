"""`torch._dynamo` in a process that compiles nothing: what speaks to the compiler is heard by nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..nn.modules.module import Module
from . import config

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "disable", "disallow_in_graph", "graph_break",
    "is_compiling", "is_dynamo_supported", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic",
    "reset",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


class OptimizedModule(Module):
    """What PyTorch's compiler makes of a module; nothing is one here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("torchlite compiles no modules")


def allow_in_graph(fn: F) -> F:
    return fn


assume_constant_result = disallow_in_graph = allow_in_graph


def disable(fn: F | None = None, recursive: bool = True, **_: Any) -> Any:
    return fn if fn is not None else allow_in_graph


def graph_break(msg: str = "") -> None:
    pass


def is_compiling() -> bool:
    return False


is_dynamo_supported = is_compiling


def mark_dynamic(t: Any, index: Any, **_: Any) -> None:
    pass


maybe_mark_dynamic = mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    pass


def mark_static_address(t: Any, guard: bool = False) -> None:
    pass


def reset() -> None:
    pass
