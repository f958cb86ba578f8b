"""The forms of all values of a graph, from running it on tensors without numbers."""

from __future__ import annotations

from typing import Any

from ..._subclasses.fake_tensor import FakeTensorMode
from ...core.machine import Tensor
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node
from .shape_prop import _extract_tensor_metadata

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a graph on fakes and writes each node's own to its `meta`: `val`, and `tensor_meta`."""

    def __init__(self, module: GraphModule, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode(allow_non_fake_inputs=True) if mode is None else mode

    def run_node(self, n: Node) -> Any:
        made = super().run_node(n)
        n.meta["val"] = made
        if isinstance(made, Tensor):
            n.meta["tensor_meta"] = _extract_tensor_metadata(made)
        return made

    def propagate(self, *args: Any) -> Any:
        """Run the graph on fakes of these arguments."""
        return self.propagate_dont_convert_inputs(
            *[self._mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args]
        )

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Run the graph on these arguments as they are."""
        with self._mode:
            return super().run(*args)
