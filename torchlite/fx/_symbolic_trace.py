"""Tracing: a program is run on proxies, and what it does becomes a graph."""

from __future__ import annotations

import builtins
import copy
import functools
import importlib
import inspect
import itertools
import math
import operator
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.machine import Tensor
from ..core.values import warn
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..utils import _pytree
from ._lazy_graph_module import _make_graph_module
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from .pytree_codegen import flattened

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

_ROOT = __package__.partition(".")[0]
_tracing: list[Any] = []  # the tracers that run, innermost last


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return bool(_tracing)


is_fx_symbolic_tracing = is_fx_tracing


class PHBase:
    """Stands for an argument that is to stay one, where others are given values."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """One whose attributes the node of the argument has, too."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


class ProxyableClassMeta(type):
    """Classes whose instances, made of proxies, become nodes."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made: Any = cls.__new__(cls)  # type: ignore[call-overload]
        leaves = _pytree.tree_leaves((args, kwargs))
        found = [leaf for leaf in leaves if isinstance(leaf, Proxy)]
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        made.__init__(*args, **kwargs)
        return made


# ---- functions that are left as calls

_wrapped: list[tuple[dict[str, Any], str]] = []


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Let calls of a function of the calling module become nodes instead of being traced."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((frame.f_globals, name))
    return fn_or_name


def _as_node(orig: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls with proxies become nodes."""

    @functools.wraps(orig)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found = next((p for p in _pytree.tree_leaves((args, kwargs)) if isinstance(p, Proxy)), None)
        if found is not None:
            made = found.tracer.create_proxy("call_function", orig, args, kwargs)
            made.node.meta["is_wrapped"] = True
            return made
        return orig(*args, **kwargs)

    return wrapped


@contextmanager
def _patched(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Inside, attributes (or items of a dictionary of globals) are others."""
    undo: list[Callable[[], None]] = []
    try:
        for where, name, value in changes:
            if isinstance(where, dict):
                if name in where:
                    undo.append(functools.partial(where.__setitem__, name, where[name]))
                else:
                    undo.append(functools.partial(where.pop, name, None))
                where[name] = value
            else:
                own = vars(where).get(name)
                undo.append(functools.partial(setattr, where, name, own) if own is not None
                            else functools.partial(delattr, where, name))  # fmt: skip
                setattr(where, name, value)
        yield
    finally:
        for put_back in reversed(undo):
            put_back()


class Tracer(TracerBase):
    """Traces modules and functions. A subclass says what stays a call: `is_leaf_module`, `call_module`, `getattr`."""

    def __init__(
        self, autowrap_modules: tuple[types.ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (), param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._autowrap_modules = list(autowrap_modules)
        self._autowrap_functions = {
            id(value): value for module in autowrap_modules for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(f): f for f in autowrap_functions}  # fmt: skip
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.tensor_attrs: dict[Any, str] = {}
        self.root: Any = None
        self.module_stack: dict[str, Any] = {}
        self.num_calls: dict[str, int] = {}
        self.scope, self.node_name_to_scope = Scope("", None), {}

    # ---- what a subclass may say

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether calls of a module stay calls, as those of torch's own modules do."""
        own = m.__module__.partition(".")[0] in ("torch", _ROOT) and m.__module__.partition(".")[2].startswith("nn")
        return own and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The name of a module within the one that is traced."""
        path = (self.submodule_paths or {}).get(mod)
        if path is None:
            path = next((name for name, m in self.root.named_modules() if m is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What becomes of a call of a module: a node, or what tracing its `forward` gives."""
        name = self.path_of_module(m)
        self.module_stack[name] = (name, type(m))
        try:
            with ScopeContextManager(self.scope or Scope("", None), Scope(name, type(m))):
                if self.is_leaf_module(m, name):
                    return self.create_proxy("call_module", name, args, kwargs)
                return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(name, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """The value of a module's attribute; of a parameter, its proxy if parameters are traced."""
        kinds: list[tuple[type[Tensor], Any]] = [(Parameter, self.root.named_parameters)]
        if self.proxy_buffer_attributes:
            kinds.append((Tensor, self.root.named_buffers))
        for kind, named in kinds:
            if isinstance(attr_val, kind):
                for name, value in named():
                    if value is attr_val:
                        if name not in parameter_proxy_cache:
                            parameter_proxy_cache[name] = self._proxy_of(name, attr_val)
                        return parameter_proxy_cache[name]
        return attr_val

    def _proxy_of(self, name: str, value: Any) -> Any:
        def factory(node: Node) -> Proxy:
            return ParameterProxy(self, node, name, value)

        constant = self.param_shapes_constant and isinstance(value, Parameter)
        return self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory if constant else None)

    # ---- arguments

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        node = super().create_node(*args, **kwargs)
        if self.module_stack:
            node.meta["nn_module_stack"] = OrderedDict(self.module_stack)
        return node

    def get_fresh_qualname(self, prefix: str) -> str:
        """An attribute's name that the module has not."""
        at = 0
        while hasattr(self.root, f"{prefix}{at}"):
            at += 1
        return f"{prefix}{at}"

    def create_arg(self, a: Any) -> Any:
        """An argument: parameters, buffers and modules by their names, other tensors as constants."""
        if isinstance(a, Parameter):
            for name, p in self.root.named_parameters():
                if a is p:
                    return super().create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, p in self.root.named_buffers():
                if a is p:
                    return super().create_node("get_attr", name, (), {})
        elif isinstance(a, Module):
            for name, p in self.root.named_modules():
                if a is p:
                    return super().create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_make"):
            return super().create_node("call_function", type(a), tuple([self.create_arg(v) for v in a]), {})
        if isinstance(a, Tensor):
            name = self.tensor_attrs.get(a)
            if name is None:
                name = self.tensor_attrs[a] = self.get_fresh_qualname("_tensor_constant")
                setattr(self.root, name, a)
            return super().create_node("get_attr", name, (), {})
        if type(a) in _proxyable:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return super().create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """The function to call, and what it is called with."""
        fn = inspect.unwrap(root_fn)
        code = fn.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:count])
        defaults = {n: p.default for n, p in inspect.signature(fn).parameters.items() if p.default is not p.empty}
        annotations = _annotations(fn)
        args: list[Any] = []
        if is_module:
            if not names:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            names.pop(0)
            args.append(self.root)
        if isinstance(concrete_args, tuple):
            if len(names) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(names, concrete_args, strict=True))

        def argument(name: str) -> Any:
            kind = None if name.startswith("*") else annotations.get(name)
            given = () if name not in defaults else (defaults[name],)
            if concrete_args and name in concrete_args:
                return self._concrete(name, concrete_args[name], given)
            return self.create_proxy("placeholder", name, given, {}, type_expr=kind)

        args.extend([argument(name) for name in names])
        positional = code.co_argcount
        if code.co_flags & inspect.CO_VARARGS:
            args.append(argument("*" + code.co_varnames[count]))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            args.append(argument("**" + code.co_varnames[count + bool(code.co_flags & inspect.CO_VARARGS)]))
        called = _called_with(root_fn, names, positional - is_module, is_module, code)
        if not concrete_args:
            return called, args
        called, args, codegen = flattened(called, list(code.co_varnames[:count]), args)
        if codegen is not None:
            self.graph.set_codegen(codegen)
        return called, args

    def _concrete(self, name: str, value: Any, default: Any) -> Any:
        """A value that an argument has, with a placeholder that checks it; containers may hold some of both."""
        numbers = itertools.count(1)

        def placed(leaf: Any) -> Any:
            made = self.create_proxy("placeholder", f"{name}_{next(numbers)}", default, {})
            if isinstance(leaf, PHBase):
                for attribute, held in vars(leaf).items():
                    setattr(made.node, attribute, held)
                return made
            message = f"{name} has been specialized to have value {leaf} but got another value"
            if leaf is None:
                self.create_proxy("call_function", _assert_is_none, (made, message), {})
            elif isinstance(leaf, (bool, int, float, str)):
                same = self.create_proxy("call_function", operator.eq, (made, leaf), {})
                self.create_proxy("call_function", importlib.import_module(_ROOT)._assert, (same, message), {})
            else:
                warn(
                    f"Was not able to add assertion to verify correct input {name} to specialized function. It is up "
                    "to the user to make sure that your inputs match the inputs you specialized the function with."
                )
            return leaf

        return _pytree.tree_map(placed, value)

    # ---- the run

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's `forward`, or of a function."""
        _tracing.append(self)
        try:
            return self._traced(root, concrete_args)
        finally:
            _tracing.pop()

    def _traced(self, root: Any, concrete_args: Any) -> Graph:
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            fn: Callable[..., Any] = getattr(type(root), self.traced_func_name)
            self.root_module_name = type(root).__name__
            self.submodule_paths = {mod: name for name, mod in root.named_modules()}
        else:
            self.root, fn = Module(), root
        extras = getattr(self, "_tracer_extras", None)
        self.graph = Graph(tracer_cls=type(self), tracer_extras=extras)
        if hasattr(fn, "__code__"):
            self.graph._codegen._func_name = "forward"
        self.tensor_attrs = {}
        _collect_tensors(self.root, [], self.tensor_attrs)
        if not isinstance(fn, types.FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        called, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
        with _patched(self._patches(getattr(fn, "__globals__", {}))):
            result = called(*args)
            kind = _annotations(fn).get("return") if called is fn else None
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        self.submodule_paths = None
        return self.graph

    def _patches(self, globals_: dict[str, Any]) -> list[tuple[Any, str, Any]]:
        """What is otherwise while the program runs."""
        tracer, cache = self, {}  # type: ignore[var-annotated]
        read, call = Module.__getattr__, Module.__call__

        def module_getattr(mod: Module, attr: str) -> Any:
            return tracer.getattr(attr, read(mod, attr), cache)

        def module_call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            return tracer.call_module(mod, lambda *a, **k: call(mod, *a, **k), args, kwargs)

        changes: list[tuple[Any, str, Any]] = [
            (Module, "__getattr__", module_getattr), (Module, "__call__", module_call),
        ]  # fmt: skip
        for names, name in _wrapped:
            orig = names.get(name, getattr(builtins, name, None))
            if orig is not None:
                changes.append((names, name, _as_node(orig)))
        for where in [globals_, *[vars(m) for m in self._autowrap_modules]]:
            for name, value in list(where.items()):
                if not name.startswith("_") and id(value) in self._autowrap_functions:
                    changes.append((where, name, _as_node(value)))
        return changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        made = type(self).__new__(type(self))
        left = {"_autowrap_modules"}
        vars(made).update({k: v if k in left else copy.deepcopy(v, memo) for k, v in vars(self).items()})
        return made


_proxyable: set[type] = set()


def _assert_is_none(value: Any, msg: str) -> None:
    """What checks an argument that was traced as None."""
    if value is not None:
        raise AssertionError(msg)


def _collect_tensors(m: Any, prefix: list[str], found: dict[Any, str]) -> None:
    """The tensors that are plain attributes of modules, by name."""
    for name, value in vars(m).items():
        if isinstance(value, Tensor):
            found[value] = ".".join([*prefix, name])
    for name, inner in m.named_children():
        _collect_tensors(inner, [*prefix, name], found)


def _annotations(fn: Callable[..., Any]) -> dict[str, Any]:
    """What a function says of its arguments; this library's own say it of tensors alone, as PyTorch's do."""
    found = getattr(fn, "__annotations__", {})
    if (fn.__module__ or "").partition(".")[0] != _ROOT:
        return found
    return {name: Tensor for name, kind in found.items() if kind == "Tensor"}


def _called_with(
    fn: Callable[..., Any], names: list[str], positional: int, is_module: bool, code: types.CodeType
) -> Callable[..., Any]:
    """A function that takes all arguments by position, those by keyword alone and `*args` and `**kwargs` too."""
    if not code.co_kwonlyargcount and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return fn
    more, keywords = bool(code.co_flags & inspect.CO_VARARGS), bool(code.co_flags & inspect.CO_VARKEYWORDS)

    def call(*args: Any) -> Any:
        given = list(args)
        named = given.pop() if keywords else {}
        rest = given.pop() if more else ()
        first = given[: positional + is_module]
        only = dict(zip(names[positional:], given[positional + is_module :], strict=True))
        return _call_raw(fn, code, first, only, rest, named)

    return call


def _call_raw(fn: Any, code: types.CodeType, first: list[Any], only: dict[str, Any], rest: Any, named: Any) -> Any:
    """Call a function so that its `*args` and `**kwargs` are proxies as they are."""
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount
    extra = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    plain = code.replace(co_flags=flags, co_argcount=count + extra, co_kwonlyargcount=0, co_posonlyargcount=0)
    made = types.FunctionType(plain, fn.__globals__, fn.__name__, None, fn.__closure__)
    values = [*first, *only.values()]
    if code.co_flags & inspect.CO_VARARGS:
        values.append(rest)
    if code.co_flags & inspect.CO_VARKEYWORDS:
        values.append(named)
    return made(*values)


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module that does what `root` did when it was run on proxies."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return _make_graph_module(tracer.root, graph, name)
