"""Tracing of operations: a function is run on tensors, and what a dispatch mode sees becomes a graph."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from itertools import count
from operator import getitem
from typing import Any

from ..._library.dispatched import overload_named
from ..._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ...core.machine import Tensor
from ...core.values import strided
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...utils import _pytree
from ...utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from ..graph import Graph
from ..graph_module import GraphModule
from ..passes.shape_prop import _extract_tensor_metadata

__all__ = ["ProxyTorchDispatchMode", "get_isolated_graphmodule", "get_proxy_mode", "make_fx"]

_READ = ("_local_scalar_dense", "allclose", "equal")  # what gives values, not tensors
_READING = (
    "It appears that you're trying to get value out of a tracing tensor with {} - erroring out! It's likely that this "
    "is caused by data-dependent control flow or similar.  It may be possible to trace this with dynamic shapes; try "
    "setting tracing_mode='symbolic' in your make_fx call."
)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Writes the operations that it sees to a graph."""

    def __init__(self, graph: Graph, root: Module, decompositions: Any = None, real: bool = False) -> None:
        super().__init__()
        self.real = real  # whether there are values to be read, which a graph must not depend on
        self.graph, self.root, self.decompositions = graph, root, decompositions or {}
        self.nodes: dict[int, tuple[Any, Any]] = {}  # by the tensor: a weak reference to it, and its node
        self.fakes = FakeTensorMode()
        self.constants: set[Any] = set()  # nodes of single numbers that hang on no argument

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def track(self, t: Tensor, node: Any) -> None:
        """A node gives this tensor."""
        self.nodes[id(t)] = weakref.ref(t), node

    def describe(self, value: Tensor, node: Any) -> None:
        """Say at a node of what form its tensor is, without holding that."""
        node.meta["val"] = self.form_of(value)
        node.meta["tensor_meta"] = _extract_tensor_metadata(value)
        self.track(value, node)

    def form_of(self, value: Tensor) -> Tensor:
        """A fake of a tensor, where there can be one."""
        fake = isinstance(value, FakeTensor) or value.layout is not strided
        return value if fake else self.fakes.from_tensor(value)

    def known(self, value: Tensor) -> Any:
        """The node that gives a tensor, if one does."""
        found = self.nodes.get(id(value))
        return found[1] if found is not None and found[0]() is value else None

    def node_of(self, value: Any) -> Any:
        """The node of a tensor; one that the function was not given is a constant, asked for at each use."""
        if not isinstance(value, Tensor):
            return value
        known = self.known(value)
        if known is not None:
            return known
        kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
        name = next(f"{kind}{at}" for at in count() if getattr(self.root, f"{kind}{at}", value) is value)
        if isinstance(value, Parameter):
            setattr(self.root, name, value)
        else:
            self.root.register_buffer(name, value)
        node = self.graph.get_attr(name)
        node.meta["val"] = self.form_of(value)
        return node

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [t for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        nodes = {node for node in map(self.known, tensors) if node is not None}
        constant = bool(nodes) and nodes <= self.constants
        if func._opname in _READ:
            if self.real and nodes and not constant:
                raise RuntimeError(_READING.format(func))
            return func(*args, **kwargs)
        if func is overload_named("lift_fresh", "default"):  # of a constant, which writes must not reach
            func, constant = overload_named("lift_fresh_copy", "default"), True
        table = self.decompositions
        other = table.get(func) or table.get(func.overloadpacket)
        if other is not None:
            with self:
                return other(*args, **kwargs)
        taken, named = _pytree.tree_map(self.node_of, (tuple(args), dict(kwargs)))
        made = func(*args, **kwargs)
        if made is not None and not any(isinstance(t, Tensor) for t in _pytree.tree_leaves(made)):
            return made
        node = self.graph.call_function(func, taken, named, name=self.graph._target_to_str(func._opname))
        if isinstance(made, Tensor):
            self.describe(made, node)
            if constant and made.numel() <= 1:
                self.constants.add(node)
            return made
        if made is None:  # by what only checks, or writes
            return None
        forms = [self.form_of(t) if isinstance(t, Tensor) else t for t in made]
        node.meta["val"] = forms if type(made) is list else tuple(forms)
        for at, t in enumerate(made):
            if isinstance(t, Tensor):
                self.track(t, _Item(node, at))
        return self._settled(made)

    def _settled(self, made: Any) -> Any:
        """Give every tensor of a list a node of its own."""
        for t in made:
            found = self.nodes.get(id(t))
            if found is not None and isinstance(found[1], _Item):
                node = self.graph.call_function(getitem, (found[1].node, found[1].at))
                self.describe(t, node)
        return made


class _Item:
    """One of several results."""

    def __init__(self, node: Any, at: int) -> None:
        self.node, self.at = node, at


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode that writes a graph now."""
    stack = _get_current_dispatch_mode_stack()
    return next((mode for mode in reversed(stack) if isinstance(mode, ProxyTorchDispatchMode)), None)


def make_fx(
    f: Callable[..., Any], decomposition_table: Any = None, tracing_mode: str = "real", **_: Any
) -> Callable[..., GraphModule]:
    """A function that traces `f` for its arguments, down to the operations of `torch.ops.aten`."""
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Expected tracing_mode to be one of 'real', 'fake', 'symbolic', got {tracing_mode}")

    def traced(*args: Any) -> GraphModule:
        graph, root = Graph(), Module()
        leaves, spec = _pytree.tree_flatten(args)
        if tracing_mode != "real":
            fake = FakeTensorMode(allow_non_fake_inputs=True)
            leaves = [fake.from_tensor(t) if isinstance(t, Tensor) else t for t in leaves]
        mode = ProxyTorchDispatchMode(graph, root, decomposition_table, tracing_mode == "real")
        names = _argument_names(f, len(leaves))
        for name, leaf in zip(names, leaves, strict=True):
            node = graph.placeholder(f"{name}_1")
            if isinstance(leaf, Tensor):
                mode.describe(leaf, node)
        with mode:
            made = f(*_pytree.tree_unflatten(leaves, spec))
        graph.output(_pytree.tree_map(mode.node_of, made))
        return GraphModule(root, graph, class_name=getattr(f, "__name__", type(f).__name__))

    return traced


def _argument_names(f: Callable[..., Any], wanted: int) -> list[str]:
    """What the arguments are called, where as many are named as there are."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    if code is None or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_argcount != wanted:
        return [f"arg{at}" for at in range(wanted)]
    return list(code.co_varnames[:wanted])


def get_isolated_graphmodule(func: Any, args: tuple[Any, ...], kwargs: Any, tracing_mode: str = "real") -> GraphModule:
    """The graph of one call."""
    return make_fx(lambda *given: func(*given, **kwargs), tracing_mode=tracing_mode)(*args)
