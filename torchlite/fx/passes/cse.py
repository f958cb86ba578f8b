"""Graphs in which what is computed twice is computed once (`torch.fx.passes.dialect.common.cse_pass`)."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from ... import ops
from ..._ops import OpOverload, OpOverloadPacket
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node
from .infra.pass_base import PassBase, PassResult

_RANDOM = """
    dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial rrelu rand_like
    rand randint randn randperm
"""
_IN_PLACE = "add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_"


def get_CSE_banned_ops() -> set[OpOverloadPacket]:
    """Operations that give, or do, something else each time."""
    return {getattr(ops.aten, name) for name in f"{_RANDOM} {_IN_PLACE}".split()}


class CSEPass(PassBase):
    """Lets calls with the same arguments be one, but for those of `banned_ops`."""

    def __init__(self, banned_ops: Set[Any] | None = None) -> None:
        super().__init__()
        self.banned_ops = set() if banned_ops is None else banned_ops

    def call(self, graph_module: GraphModule) -> PassResult:
        made, same, known = Graph(), {}, {}  # type: ignore[var-annotated]
        merged = False
        for node in graph_module.graph.nodes:
            key = self._key(node, same)
            if key is not None and key in known:
                same[node], merged = known[key], True
                continue
            same[node] = made.node_copy(node, same.__getitem__)
            if key is not None:
                known[key] = same[node]
        return PassResult(GraphModule(graph_module, made) if merged else graph_module, merged)

    def _key(self, node: Node, same: dict[Node, Node]) -> Any:
        """What calls that are one have in common; None of what always stays."""
        target = node.target.overloadpacket if isinstance(node.target, OpOverload) else node.target
        if node.op in ("placeholder", "output", "get_attr") or target in self.banned_ops:
            return None
        key = node.op, node.target, _frozen(node.args, same), _frozen(dict(node.kwargs), same)
        try:
            hash(key)
        except TypeError:
            return None
        return key


def _frozen(a: Any, same: dict[Node, Node]) -> Any:
    """An argument as something that can be looked up."""
    if isinstance(a, (list, tuple)):
        return type(a).__name__, *[_frozen(part, same) for part in a]
    if isinstance(a, dict):
        return dict, *[(name, _frozen(part, same)) for name, part in sorted(a.items())]
    if isinstance(a, slice):
        return slice, *[_frozen(part, same) for part in (a.start, a.stop, a.step)]
    return same[a] if isinstance(a, Node) else a
