"""The nodes of a graph: one operation each, with what it is given and who uses it."""

from __future__ import annotations

import builtins
import inspect
import math
import operator
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._ops import OpOverload, OpOverloadPacket
from ..checks import _assert_async
from ..core.machine import Tensor, functions
from ..core.values.device import device
from ..core.values.dtype import dtype
from ..nn import functional
from ..queries import _assert
from .immutable_collections import immutable_dict, immutable_list
from .operator_schemas import ArgsKwargsPair, normalize_function, normalize_module

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument = ArgumentT = Any
Target = Callable[..., Any] | str
_legal_ops = frozenset(("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"))
_side_effectful_functions: set[Any] = {operator.setitem, _assert, _assert_async}
# Functions that draw random numbers; as operations they are `aten` overloads, besides those of dropout.
_DRAWING = frozenset((
    "bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm",
))  # fmt: skip
_DROPPING = frozenset(("alpha_dropout", "dropout", "feature_alpha_dropout", "feature_dropout", "native_dropout"))
_CHECKING = frozenset(("_assert_async", "_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range"))
_ROOT = __package__.partition(".")[0]


def has_side_effect(fn: Callable[..., Any]) -> Any:
    """Let calls of a function stay in graphs although nobody uses what they give."""
    _side_effectful_functions.add(fn)
    return fn


# ---- names of what is called


def _get_qualified_name(func: Callable[..., Any]) -> str:
    """The dotted name by which code reaches a function."""
    name = getattr(func, "__name__", "")
    if getattr(builtins, name, None) is func:
        return name
    if isinstance(func, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{func}"
    home = getattr(func, "__module__", None) or "torch"
    theme, _, own = name.partition("_")
    if theme in ("fft", "linalg", "special") and getattr(sys.modules[f"{_ROOT}.{theme}"], own, None) is func:
        return f"torch._C._{theme}.{name}"
    if functions.get(name) is func and home.partition(".")[0] in (_ROOT, "torch"):
        return f"torch.functional.{name}" if home.endswith(".functional") else f"torch.{name}"
    if vars(sys.modules[_ROOT]).get(name) is func:
        return f"torch.{name}"
    if name in _NATIVE_NN and getattr(functional, name.replace("log_", "log"), None) is func:
        return f"torch._C._nn.{name}"
    if getattr(functional, name, None) is func:
        return f"torch.nn.functional.{name}"
    if getattr(Tensor, name, None) is func:
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        name = inspect.getsource(func).split("=")[0].strip()
    home = "torch" + home.removeprefix(_ROOT) if home.partition(".")[0] == _ROOT else home
    return f"{home}.{name.removeprefix(home.rpartition('.')[2] + '_')}"


# Functions of `torch.nn.functional` that PyTorch has in its compiled core.
_NATIVE_NN = frozenset((
    "avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear", "log_sigmoid", "one_hot",
    "scaled_dot_product_attention", "softplus", "softshrink",
))  # fmt: skip


def _type_repr(obj: Any) -> str:
    """How a type stands in code."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        own = obj.__module__.partition(".")[0] == _ROOT
        home = "torch" + obj.__module__.removeprefix(_ROOT) if own else obj.__module__
        return obj.__qualname__ if home == "builtins" else f"{home}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    return obj.__name__ if isinstance(obj, types.FunctionType) else repr(obj).replace(f"{_ROOT}.", "torch.")


def _format_arg(arg: object, max_list_len: float = math.inf) -> str:
    """An argument in a description of a graph; of long lists, how many there are."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, list):
        return f"[{_format_parts(arg, max_list_len)}]"
    if isinstance(arg, tuple):
        return f"({_format_parts(arg, max_list_len, ',' if len(arg) == 1 else '')})"
    if isinstance(arg, dict):
        return "{" + ", ".join([f"{k}: {_format_arg(v)}" for k, v in arg.items()]) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def _format_parts(parts: Sequence[object], most: float, end: str = "") -> str:
    shown = ", ".join([_format_arg(part) for part in parts[: int(min(most, len(parts)))]]) + end
    return shown if len(parts) <= most else f"{shown}, ...[total_len={len(parts)}]"


# ---- arguments


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """`fn` of each part of an argument, in containers that cannot be changed."""
    if isinstance(a, tuple):
        parts = [map_aggregate(part, fn) for part in a]
        return type(a)(*parts) if hasattr(a, "_make") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(part, fn) for part in a])
    if isinstance(a, dict):
        return immutable_dict({name: map_aggregate(part, fn) for name, part in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """`fn` of each node in an argument."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


class Node:
    """An operation of a graph: `op` says which kind, `target` what is called, read or named."""

    def __init__(
        self, graph: Graph, name: str, op: str, target: Target, args: tuple[Any, ...], kwargs: Mapping[str, Any],
        return_type: Any = None,
    ) -> None:  # fmt: skip
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a "
                "Callable is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self._args: tuple[Any, ...] = ()
        self._kwargs: Mapping[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.type = return_type
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._set_arguments(args, kwargs)

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __lt__(self, other: Node) -> bool:
        return self._place() < other._place()

    def __gt__(self, other: Node) -> bool:
        return self._place() > other._place()

    def _place(self) -> int:
        return next(at for at, node in enumerate(self.graph.nodes) if node is self)

    # ---- where it stands

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put `x` before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Put `x` after this node."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    # ---- what it is given

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments by position."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self) -> Mapping[str, Any]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Mapping[str, Any]) -> None:
        self._set_arguments(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among its arguments, each once."""
        return list(self._input_nodes)

    def _set_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args, self._kwargs = map_arg(tuple(args), use), map_arg(dict(kwargs), use)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Put another argument at a place."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Put an argument before the one at a place."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Put another argument under a name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *,
        propagate_meta: bool = False,
    ) -> list[Node]:  # fmt: skip
        """Let those who use this node use another instead; the users that were asked for."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already "
                    "has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = []
        for user in list(self.users):
            if delete_user_cb(user):
                changed.append(user)
                user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take another node in the place of an argument, wherever it stands."""

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        self._set_arguments(map_arg(self.args, swap), map_arg(dict(self.kwargs), swap))

    # ---- what is said of it

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that led to it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether something is lost when it is taken away although nobody uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if isinstance(self.target, OpOverload):
                name = self.target._opname
                drawn = impure_random and (name in _DRAWING or name in _DROPPING)
                return drawn or name in _CHECKING or self.target._schema.is_mutable
            name = getattr(self.target, "__name__", "")
            drawn = name in _DRAWING and functions.get(name) is self.target
            return drawn or self.target in _side_effectful_functions
        if self.op == "call_module":
            module = self.graph.owning_module.get_submodule(self.target)
            return getattr(module, "_is_impure", False)
        return False

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) in ("builtins", "_operator"):
            return f"{target.__module__.removeprefix('_')}.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None,
                    *, include_tensor_metadata: bool = False) -> str | None:  # fmt: skip
        """The node as a line of a description."""
        typed = f" : {_type_repr(self.type)}" if self.type else " :"
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name}{typed} [num_users={len(self.users)}] = placeholder[target={self.target}]{default}"
        if self.op == "output":
            return f"return {self.args[0]}"
        if self.op == "get_attr":
            target = self._pretty_print_target(self.target)
            return f"%{self.name}{typed} [num_users={len(self.users)}] = get_attr[target={target}]"
        return (
            f"%{self.name}{typed} [num_users={len(self.users)}] = {self.op}"
            f"[target={self._pretty_print_target(self.target)}](args = {_format_arg(self.args)}, "
            f"kwargs = {_format_arg(dict(self.kwargs))})"
        )

    def normalized_arguments(
        self, root: Any, arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> ArgsKwargsPair | None:  # fmt: skip
        """The arguments with the names and defaults of what is called, where these are known."""
        given = self.args, dict(self.kwargs)
        if self.op == "call_function" and callable(self.target):
            return normalize_function(self.target, *given, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, str(self.target), *given, normalize_to_only_use_kwargs)
        return None


def nodes_in(value: Any) -> Iterator[Node]:
    """The nodes in an argument."""
    found: list[Node] = []
    map_arg(value, found.append)
    return iter(found)


base_types = (str, int, float, complex, bool, dtype, device, type(None), type(...), slice)
