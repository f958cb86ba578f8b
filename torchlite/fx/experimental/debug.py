"""Looking at code of graphs while it runs."""

from __future__ import annotations

from collections.abc import Callable

from ..graph_module import GraphModule

__all__ = ["set_trace"]


def set_trace(gm: GraphModule) -> GraphModule:
    """Let the debugger be entered where a module's code begins."""

    def stopped(body: list[str]) -> list[str]:
        return ["import pdb; pdb.set_trace()\n", *body]

    def transformer(former: Callable[[list[str]], list[str]] | None) -> Callable[[list[str]], list[str]]:
        return lambda body: stopped(former(body) if former else body)

    with gm.graph.on_generate_code(transformer):
        gm.recompile()
    return gm
