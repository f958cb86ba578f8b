"""What `torch.compile` hands to a program's own backend: the calls of a function as a graph.

A call runs the function on fakes of its tensors, while a function mode writes down what is done to them; then what the
backend made of the graph runs on the tensors themselves. Since this is done in every call, a graph holds for no more
than the call it was made in, and nothing need be guarded: the backend is asked again where another graph comes out.
What a graph cannot say, because it depends on values or leaves fakes behind, breaks it: then it runs as it is.
"""

from __future__ import annotations

import functools
import gc
import operator
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ..autograd.grad_mode import set_grad_enabled
from ..core.machine import Tensor, plain
from ..core.machine.asked import _Asking
from ..core.machine.function_modes import TorchFunctionMode
from ..core.state import local
from ..core.values import shown_in
from ..faces.compiler_errors import Unsupported
from ..nn.modules.module import Module
from ..random import get_rng_state, set_rng_state
from ..utils._pytree import tree_flatten, tree_unflatten
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, base_types, has_side_effect, map_aggregate
from .proxy import _is_method

Backend = Callable[[GraphModule, list[Tensor]], Callable[..., Any]]


class GraphBreak(Exception):
    """A graph cannot say what the function does."""


class _Recorder(TorchFunctionMode):
    """Writes calls down, and makes them on fakes."""

    def __init__(self, fakes: FakeTensorMode, names: dict[int, str]) -> None:
        self.fakes, self.names = fakes, names
        self.graph = Graph()
        self.inputs: list[Tensor] = []
        self.placeholders: dict[int, FakeTensor] = {}  # by the ids of inputs
        self.nodes: dict[int, Node] = {}  # by the ids of fakes
        self.kept: list[FakeTensor] = []
        self.mode = local.state.mode
        self.grad = self.mode.grad

    def fake(self, value: Any) -> Any:
        """The fake of a tensor that is seen for the first time, which becomes an input; others as they are."""
        if not isinstance(value, Tensor):
            return value
        if id(value) in self.nodes:
            return value
        if isinstance(value, FakeTensor):
            raise GraphBreak("a fake tensor that nobody knows")
        found = self.placeholders.get(id(value))
        if found is None:
            found = self.placeholders[id(value)] = self.fakes.from_tensor(value)
            target = self.names.get(id(value), f"G_{len(self.inputs)}_")
            first = next((n for n in self.graph.nodes if n.op != "placeholder"), None)
            with self.graph.inserting_before(first or self.graph._root):
                self._know(found, self.graph.create_node("placeholder", target, name=target.lower()))
            self.inputs.append(value)
        return found

    def _know(self, fake: FakeTensor, node: Node) -> None:
        self.nodes[id(fake)] = node
        self.kept.append(fake)

    def node_of(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.nodes[id(value)]
        if isinstance(value, base_types) or value is None or value is ...:
            return value
        raise GraphBreak(f"an argument of type {type(value).__name__}")

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mode = local.state.mode
        if mode.autocast is not self.mode.autocast or mode.levels is not self.mode.levels:
            raise GraphBreak("a context that a graph does not enter")
        args, kwargs = map_aggregate(args, self.fake), map_aggregate(kwargs or {}, self.fake)
        result = func(*args, **kwargs)
        reads = isinstance(func, _Asking) and func.__name__ != "__set__"
        made = result if isinstance(result, (tuple, list)) else (result,)
        if not any([isinstance(t, Tensor) for t in made]):
            if not reads and func is not Tensor.__setitem__:
                raise GraphBreak(f"{func.__name__}, which gives no tensor")
            if reads:
                return result
        self.set_grad(mode.grad)
        node = self._call(func, map_aggregate(args, self.node_of), map_aggregate(kwargs, self.node_of))
        if isinstance(result, FakeTensor):
            self._know(result, node)
        for at, t in enumerate(made if made is result else ()):
            if isinstance(t, FakeTensor):
                self._know(t, self.graph.call_function(operator.getitem, (node, at)))
        return result

    def _call(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Node:
        if func is Tensor.__setitem__:
            return self.graph.call_function(operator.setitem, args)
        if func.__name__ == "__get__":
            return self.graph.call_function(getattr, (args[0], _attribute(func)))
        if _is_method(func) or isinstance(func, _Asking):
            return self.graph.call_method(func.__name__, args, kwargs)
        return self.graph.call_function(func, args, kwargs)

    def set_grad(self, grad: bool) -> None:
        if grad is not self.grad:
            self.grad = grad
            self.graph.call_function(has_side_effect(set_grad_enabled), (grad,))


def _attribute(read: Any) -> str:
    """The name of the attribute of tensors that a function reads."""
    return next(name for name, attribute in vars(Tensor).items() if plain(attribute) is plain(read.__self__))


class Capture:
    """A graph of one call: its inputs, and what becomes of its outputs."""

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        leaves, spec = tree_flatten((tuple(args), kwargs))
        recorder = _Recorder(FakeTensorMode(), _names(fn, args, kwargs))
        drawn = get_rng_state()
        given, named = tree_unflatten([recorder.fake(leaf) for leaf in leaves], spec)
        try:
            with recorder.fakes, recorder:
                made = fn(*given, **named)
        finally:
            set_rng_state(drawn)
        del given, named
        results, self.spec = tree_flatten(made)
        del made
        self.leaves = [recorder.nodes[id(t)] if isinstance(t, FakeTensor) else t for t in results]
        nodes = list(dict.fromkeys([leaf for leaf in self.leaves if isinstance(leaf, Node)]))
        self.places = {node: place for place, node in enumerate(nodes)}
        recorder.set_grad(recorder.mode.grad)
        recorder.graph.output(tuple(nodes))
        self.graph, self.inputs = recorder.graph, recorder.inputs
        left = [weakref.ref(t) for t in recorder.kept]
        del recorder, results
        if any([ref() is not None for ref in left]):
            gc.collect()
            if any([ref() is not None for ref in left]):
                raise GraphBreak("tensors that are kept beyond the call")

    @property
    def calls(self) -> list[Node]:
        return [n for n in self.graph.nodes if n.op in ("call_function", "call_method")]

    def key(self) -> tuple[Any, ...]:
        """What graphs that are alike have in common."""
        forms = [(t.shape, t.stride(), t.dtype, t.device, t.requires_grad) for t in self.inputs]
        targets = [node.target for node in self.graph.nodes]
        return self.graph.python_code("self").src, tuple(targets), tuple(forms), local.state.mode.grad

    def module(self) -> GraphModule:
        return GraphModule(Module(), self.graph)

    def run(self, compiled: Callable[..., Any]) -> Any:
        found = compiled(*self.inputs)
        placeholders = dict(zip([n for n in self.graph.nodes if n.op == "placeholder"], self.inputs))
        values = [
            leaf if not isinstance(leaf, Node) else placeholders[leaf] if leaf in placeholders
            else found[self.places[leaf]]
            for leaf in self.leaves
        ]  # fmt: skip
        return tree_unflatten(values, self.spec)


def _names(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[int, str]:
    """What placeholders are called: by the names of arguments, and by where parameters stand in a module."""
    module = fn if isinstance(fn, Module) else getattr(fn, "__self__", None)
    called = fn.forward if isinstance(fn, Module) else fn
    code = getattr(getattr(called, "__func__", called), "__code__", None)
    own = code.co_varnames[: code.co_argcount] if code is not None else ()
    owner = "self"
    if own and hasattr(called, "__func__"):
        owner, *own = own
    named = [*zip(own, args), *kwargs.items()]
    names = {id(t): f"L_{name}_" for name, t in named if isinstance(t, Tensor)}
    if isinstance(module, Module):
        kinds = (("parameters", module.named_parameters()), ("buffers", module.named_buffers()))
        for kind, tensors in kinds:
            for path, t in tensors:
                *modules, name = path.split(".")
                names[id(t)] = "_".join([f"L_{owner}", *[f"modules_{m}" for m in modules], kind, name, ""])
    return names


_captured: weakref.WeakSet[Captured] = weakref.WeakSet()
_LIMIT = 8  # graphs of one function, beyond which it runs as it is


class Captured:
    """A function whose graphs a backend is asked to run."""

    def __init__(self, fn: Callable[..., Any], backend: Backend, fullgraph: bool) -> None:
        self.fn, self._backend, self.fullgraph = fn, backend, fullgraph
        self.reset()
        _captured.add(self)

    def reset(self) -> None:
        self.compiled: dict[Any, Callable[..., Any]] = {}
        self.broken = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.broken or local.state.mode.functions:
            return self.fn(*args, **kwargs)
        try:
            capture = Capture(self.fn, args, kwargs)
        except Exception as error:  # what the function itself refuses, it refuses again
            made = self.fn(*args, **kwargs)
            if self.fullgraph:
                raise Unsupported(f"{type(error).__name__}: {error}") from error
            self.broken = True
            return made
        if not capture.calls:
            return self.fn(*args, **kwargs)
        key = capture.key()
        if key not in self.compiled:
            if len(self.compiled) >= _LIMIT:
                self.broken = True
                return self.fn(*args, **kwargs)
            self.compiled[key] = self._backend(capture.module(), list(capture.inputs))
        return capture.run(self.compiled[key])


def captured(fn: Callable[..., Any], backend: Backend, fullgraph: bool) -> Callable[..., Any]:
    """A function that is called as `fn` is."""
    runs = Captured(fn, backend, fullgraph)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return runs(*args, **kwargs)

    call._torchdynamo_orig_callable = fn  # type: ignore[attr-defined]
    return call


def reset() -> None:
    """Forget all graphs."""
    for each in list(_captured):
        each.reset()


def is_capturing() -> bool:
    """Whether the code that asks is being captured."""
    return any([isinstance(mode, _Recorder) for mode in local.state.mode.functions])


@shown_in("torch._dynamo.testing")
class CompileCounter:
    """A backend that runs graphs as they are, and counts them and the calls in them."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Start again from zero."""
        self.frame_count = self.op_count = 0

    def __call__(self, gm: GraphModule, example_inputs: Sequence[Tensor]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += sum([node.op.startswith("call") for node in gm.graph.nodes])
        return gm.forward


@shown_in("torch._dynamo.testing")
class EagerAndRecordGraphs:
    """A backend that runs graphs as they are, and keeps them."""

    def __init__(self) -> None:
        self.graphs: list[GraphModule] = []

    def __call__(self, gm: GraphModule, example_inputs: Sequence[Tensor], **_: Any) -> GraphModule:
        self.graphs.append(gm)
        return gm


@shown_in("torch._dynamo.backends.debugging")
@dataclass
class ExplainOutput:
    """What became of a call."""

    graphs: list[GraphModule]
    graph_count: int
    graph_break_count: int
    break_reasons: list[Any]
    op_count: int
    ops_per_graph: list[list[Any]] | None = None
    out_guards: list[Any] | None = None
    compile_times: str | None = None

    def __str__(self) -> str:
        counts = (self.graph_count, self.graph_break_count, self.op_count)
        shown = "Graph Count: {}\nGraph Break Count: {}\nOp Count: {}\nBreak Reasons:\n".format(*counts)
        return shown + "".join([f"  Break Reason {i}:\n    Reason: {r}\n" for i, r in enumerate(self.break_reasons, 1)])


def explain(f: Callable[..., Any]) -> Callable[..., ExplainOutput]:
    """A function of the arguments of `f` that tells which graph a call makes, and why it makes none."""

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        try:
            capture = Capture(f, args, kwargs)
        except Exception as error:  # `f` says itself what is wrong with its arguments
            f(*args, **kwargs)
            return ExplainOutput([], 0, 1, [f"{type(error).__name__}: {error}"], 0, [])
        ops = [node.target for node in capture.calls if node.op == "call_function"]
        return ExplainOutput([capture.module()], 1, 0, [], len(ops), [ops], [])

    return inner
