"""`torch.fx` for programs that only mention it: nothing here captures graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "symbolic_trace", "wrap"]


def symbolic_trace(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("torchlite does not capture graphs: torch.fx traces nothing here")


class Graph:
    """A class that nothing is an instance of, as are the others here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        symbolic_trace()


class GraphModule(Graph):
    pass


class Interpreter(Graph):
    pass


class Node(Graph):
    pass


class Proxy(Graph):
    pass


class Tracer(Graph):
    pass


class Transformer(Graph):
    pass


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Tracing would leave calls of the function as they are."""
    return fn_or_name
