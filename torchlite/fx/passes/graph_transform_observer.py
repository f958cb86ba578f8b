"""What passes do to graphs, drawn before and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node
from .graph_drawer import FxGraphDrawer

__all__ = ["GraphTransformObserver"]

_T = TypeVar("_T")


class GraphTransformObserver:
    """Inside, it is seen which nodes of a module are made and taken away, where there is a folder to draw it in."""

    _pass_count: ClassVar[int] = 0

    def __init__(
        self, gm: GraphModule, passname: str, subsystem: str | None = None, log_url: str | None = None
    ) -> None:
        self.gm, self.passname, self.subsystem, self.log_url = gm, passname, subsystem, log_url
        self.active = log_url is not None
        if self.active:
            GraphTransformObserver._pass_count += 1
            self.created_nodes: set[str] = set()
            self.erased_nodes: set[str] = set()
            self._before = self._drawn()

    @classmethod
    def get_current_pass_count(cls) -> int:
        """How many passes were drawn."""
        return cls._pass_count

    def apply_gm_pass(self, pass_fn: Callable[[GraphModule], _T]) -> _T | None:
        """What a pass over the module gives."""
        with self:
            return pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn: Callable[[Graph], _T]) -> _T | None:
        """What a pass over the graph gives."""
        with self:
            return pass_fn(self.gm.graph)

    def __enter__(self) -> GraphTransformObserver:
        if self.active:
            self.gm._register_create_node_hook(self._made)
            self.gm._register_erase_node_hook(self._gone)
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if not self.active:
            return
        self.gm._unregister_create_node_hook(self._made)
        self.gm._unregister_erase_node_hook(self._gone)
        if kind is None and (self.created_nodes or self.erased_nodes):
            stem = f"pass_{self._pass_count}_{self.passname}"
            for name, drawn in ("input", self._before), ("output", self._drawn()):
                Path(str(self.log_url), f"{stem}_{name}_graph.dot").write_text(drawn)

    def _drawn(self) -> str:
        return FxGraphDrawer(self.gm, self.passname).get_dot_graph().to_string()

    def _made(self, node: Node) -> None:
        self.created_nodes.add(node.name)

    def _gone(self, node: Node) -> None:
        self.erased_nodes.add(node.name)
