"""Proxies: what stands for a value while a program is traced, and makes a node of whatever is done to it."""

from __future__ import annotations

import copy
import dis
import importlib
import inspect
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from ..core.machine import Tensor
from . import traceback
from .codegen import magic_methods, reflectable_magic_methods
from .graph import Graph
from .node import Node, base_types, has_side_effect, map_aggregate, nodes_in

__all__ = [
    "Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError",
    "TracerBase",
]  # fmt: skip


class TraceError(ValueError):
    """A program does what cannot be traced."""


class Scope:
    """The module in which a node is made: its path, and its class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Inside, a scope speaks of another's module."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope, self._prev_scope = scope, copy.copy(scope)
        vars(scope).update(vars(current_scope))

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *_: object) -> None:
        vars(self._scope).update(vars(self._prev_scope))


class TracerBase:
    """The base of tracers, which record operations on proxies as nodes."""

    graph: Graph
    scope: Scope | None = None
    node_name_to_scope: dict[str, tuple[str, Any]]
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def create_node(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A node at the end of the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        node.meta.update(traceback.kept())
        if self.scope is not None:
            self.node_name_to_scope[node.name] = self.scope.module_path, self.scope.module_type
        return node

    def proxy(self, node: Node) -> Proxy:
        """A proxy for a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
        type_expr: Any = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:  # fmt: skip
        """A node of a call, and what stands for its value."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args_, tuple) or not isinstance(kwargs_, dict):
            raise AssertionError("arguments are a tuple and a dict")
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        made = (proxy_factory_fn or self.proxy)(node)
        if self.record_stack_traces:
            frames = [f for f in inspect.stack(0)[1:] if __package__.replace(".", "/") not in f.filename]
            node.stack_trace = "".join([f'  File "{f.filename}", line {f.lineno}, in {f.function}\n' for f in frames])
        return made

    def create_arg(self, a: Any) -> Any:
        """An argument as a node takes it."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(part) for part in a]
            return type(a)(*parts) if hasattr(a, "_make") else tuple(parts)
        if isinstance(a, list):
            return [self.create_arg(part) for part in a]
        if isinstance(a, dict):
            for key in map(self.create_arg, a):
                if any(nodes_in(key)):
                    raise RuntimeError(
                        f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
                    )
            return {self.create_arg(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, (Node, *base_types)) or a is ... or callable(a) or not _unknown(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """A proxy is asked whether it is true."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """A proxy is looped over."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """A proxy is asked for its keys, as `**proxy` does."""
        return Attribute(obj, "keys")()


def _unknown(a: Any) -> bool:
    """Whether a value is none that code can be written of."""
    from_values = type(a).__module__.partition(".")[0] in (__package__.partition(".")[0], "torch")
    return not from_values or isinstance(a, Tensor)


class GraphAppendingTracer(TracerBase):
    """Appends to a graph that there is."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope, self.node_name_to_scope = Scope("", None), {}


def assert_fn(x: Any) -> None:
    """The function that an `assert` of a traced value is recorded as."""
    if not x:
        raise AssertionError("the traced assertion failed")


has_side_effect(assert_fn)


class Proxy:
    """The value of a node that is still to be computed."""

    node: Node
    tracer: TracerBase

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        code = list(dis.get_instructions(frame.f_code))
        at = next((i for i, one in enumerate(code) if one.offset == frame.f_lasti), None)
        if at is not None:
            while code[at].opname == "CACHE":
                at -= 1
            if code[at].opname == "UNPACK_SEQUENCE":
                whole: Any = self
                return iter([whole[i] for i in range(code[at].argval)])
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            frame = sys._getframe(1)
            code = [one for one in dis.get_instructions(frame.f_code) if one.opname != "CACHE"]
            at = next(i for i, one in enumerate(code) if one.offset == frame.f_lasti)
            if code[at].opname.endswith("JUMP_FORWARD_IF_TRUE") or (
                code[at].opname == "POP_JUMP_FORWARD_IF_TRUE" and code[at + 1].opname == "LOAD_ASSERTION_ERROR"
            ):
                self.tracer.create_proxy("call_function", assert_fn, (self,), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """What `**proxy` asks for."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """A function of torch is called with proxies: it becomes a node."""
        kwargs = kwargs or {}
        tracers: dict[Any, None] = {}

        def find(a: Any) -> None:
            if isinstance(a, cls):
                tracers[a.tracer] = None

        map_aggregate(args, find)
        map_aggregate(kwargs, find)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        if _is_method(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=_named(tracer, orig_method))


def _named(tracer: TracerBase, function: Callable[..., Any]) -> str:
    return tracer.graph._target_to_str(function.__name__)


def _is_method(f: Callable[..., Any]) -> bool:
    """Whether a function is a method of tensors, and no function of torch."""
    name = getattr(f, "__name__", "")
    machine = importlib.import_module(f"{__package__.partition('.')[0]}.core.machine")
    return machine.functions.get(name) is not f and getattr(Tensor, name, None) is f


class Attribute(Proxy):
    """An attribute of a proxy: a node if it is used as a value, a method if it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute, made when it is asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A proxy for a parameter, whose shape and dtype are known."""

    _told: ClassVar[tuple[str, ...]] = ("dim", "ndim", "numel", "nelement", "shape", "size")

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    def size(self, *args: Any) -> Any:
        return self.param.size(*args)

    def dim(self) -> int:
        return self.param.dim()

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()


def _operator(name: str) -> Callable[..., Any]:
    def impl(self: Proxy, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_function", getattr(operator, name), (self, *args), kwargs)

    return impl


def _reflected(name: str) -> Callable[..., Any]:
    def impl(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", getattr(operator, name), (other, self), {})

    return impl


for _method in magic_methods:
    if hasattr(operator, _method):
        setattr(Proxy, f"__{_method.strip('_')}__", _operator(_method))
for _method in reflectable_magic_methods:
    if hasattr(operator, _method):
        setattr(Proxy, f"__r{_method.strip('_')}__", _reflected(_method))
