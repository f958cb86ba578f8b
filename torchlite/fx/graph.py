"""Graphs: nodes in order, how they are changed, and the code that they stand for."""

from __future__ import annotations

import builtins
import copy
import keyword
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.state import Holding
from ..nn.modules.module import Module
from .codegen import CodeGen, PythonCode, _custom_builtins
from .codegen import _register_custom_builtin as _register_custom_builtin
from .codegen import inplace_methods as inplace_methods
from .codegen import magic_methods as magic_methods
from .codegen import reflectable_magic_methods as reflectable_magic_methods
from .node import Node, Target, map_arg
from .node import _get_qualified_name as _get_qualified_name
from .pytree_codegen import _PyTreeCodeGen as _PyTreeCodeGen
from .pytree_codegen import _PyTreeInfo as _PyTreeInfo

__all__ = ["CodeGen", "Graph", "PythonCode"]


class _Namespace:
    """Names that are in use."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name like this one that nothing else has."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        base, _, number = candidate.rpartition("_")
        base, at = (base, int(number)) if base and number.isdigit() else (candidate, None)
        while candidate in self._used_names or _is_illegal(candidate, obj):
            at = 1 if at is None else at + 1
            candidate = f"{base}_{at}"
        self._used_names.add(candidate)
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Keep a name for an object."""
        self._obj_to_name.setdefault(obj, name)
        self._used_names.add(name)


def _is_illegal(name: str, obj: Any) -> bool:
    if name in keyword.kwlist or name in _custom_builtins:
        return True
    return name in vars(builtins) and vars(builtins)[name] is not obj


def _snake_case(s: str) -> str:
    """`LayerNorm2d` as `layer_norm2d`."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", s).lower()


class _node_list:
    """The nodes of a graph, in order or backwards."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            following = getattr(node, self.direction)
            if not node._erased:
                yield node
            node = following if not node._erased else getattr(node, self.direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """A program as a list of operations."""

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def nodes(self) -> _node_list:
        """The nodes, in the order in which they run."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node of what the graph gives."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, of one target if it is given."""
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # ---- copies

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy another graph's nodes here; what it gives, in terms of the copies."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy of a node of any graph, its arguments as `arg_transform` gives them."""
        made = self.create_node(
            node.op, node.target, map_arg(node.args, arg_transform), map_arg(dict(node.kwargs), arg_transform),
            node.name, node.type,
        )  # fmt: skip
        made.meta = copy.copy(node.meta)
        return made

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        known: dict[Node, Node] = {}
        found = made.graph_copy(self, known, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            result, old = found
            made.output(result, type_expr=old.type).meta = copy.copy(old.meta)
        return made

    # ---- making nodes

    def create_node(
        self, op: str, target: Target, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        name: str | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A node at the place where nodes are inserted."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        made = Node(self, self._graph_namespace.create_name(name or self._target_to_str(target), None), op, target,
                    args, kwargs, type_expr)  # fmt: skip
        self._graph_namespace.associate_name_with_obj(made.name, made)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(made)
        self._insert(made)
        self._len += 1
        return made

    def _target_to_str(self, target: Target) -> str:
        if callable(target):
            name = target.__name__ if hasattr(target, "__name__") else type(target).__name__
            name = name.replace(".", "_")
        else:
            if not isinstance(target, str):
                raise AssertionError(f"Expected target to be str, got {type(target)}")
            name = target
            if name.startswith("__") and name.endswith("__"):
                name = name[2:-2]
        return _snake_case(name)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An argument of the graph."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None, type_expr: Any = None,
        name: str | None = None,
    ) -> Node:  # fmt: skip
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Add the node that returns a value."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    # ---- where they go, and how they go away

    def inserting_before(self, n: Node | None = None) -> Any:
        """A context in which nodes are made before `n`, or before all."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return Holding(self, _insert=n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A context in which nodes are made after `n`, or after all."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return Holding(self, _insert=n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Take a node away that nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase.args = (None,)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take away what nobody uses; whether there was any."""
        self.lint()
        impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Check that the graph makes sense."""
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node._erased:
                raise RuntimeError(f"Attempting to use erased node {node}!")
            for arg in node.all_input_nodes:
                if arg.graph is not self:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an "
                        "argument! If you are copying nodes from another graph, make sure to use ``arg_transform`` on "
                        f"node_copy() to remap values\n{self}"
                    )
                if arg not in seen:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check that "
                        f"Nodes in the graph are topologically ordered\n{self}"
                    )
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                self._check_target(node)

    def _check_target(self, node: Node) -> None:
        """Refuse the name of what the module has not."""
        if node.op not in ("get_attr", "call_module"):
            return
        found: Any = self.owning_module
        parts = str(node.target).split(".")
        for at, part in enumerate(parts):
            if not hasattr(found, part):
                where = ".".join(parts[:at])
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of {where}"
                )
            found = getattr(found, part)
        if node.op == "call_module" and not isinstance(found, Module):
            where = ".".join(parts[:-1])
            raise RuntimeError(
                f"Node {node} target {node.target} {parts[-1]} of {where} does not reference an nn.Module"
            )

    # ---- what it looks like

    def python_code(
        self, root_module: str, *, verbose: bool = False, include_stride: bool = False, include_device: bool = False,
        colored: bool = False, expanded_def: bool = False, record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:  # fmt: skip
        """The code of the graph as a method, `root_module` being what the module is called there.

        Comments and annotations tell of each line's origin and result where it is `verbose`.
        """
        names = _Namespace()
        for node in self.nodes:
            node._repr_fn = None
        return self._codegen._gen_python_code(
            self.nodes, root_module, names, verbose=verbose, include_stride=include_stride,
            include_device=include_device, colored=colored, expanded_def=expanded_def, record_func=record_func,
            additional_meta=additional_meta,
        )  # fmt: skip

    def __str__(self) -> str:
        lines = [node.format_node() for node in self.nodes]
        return "graph():" + "".join([f"\n    {line}" for line in lines if line is not None])

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(_tabular(rows, ["opcode", "name", "target", "args", "kwargs"]))

    # ---- how code is made of it

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let code be made by another generator."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Let lines of code be changed by what `make_transformer` gives, told of what does so now."""
        former = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(former)

        @contextmanager
        def undone() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = former

        return undone()

    def process_inputs(self, *args: Any) -> Any:
        """The placeholders' values, from the arguments of the program."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of the program, from the value of the output node."""
        return self._codegen.process_outputs(out)


def _tabular(rows: Iterable[list[Any]], headers: list[str]) -> str:
    """A table in the plain style."""
    table = [headers, *[[str(cell) for cell in row] for row in rows]]
    widths = [max([len(header) + 2, *[len(row[at]) for row in table[1:]]]) for at, header in enumerate(headers)]
    lines = ["  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]).rstrip() for row in table]
    return "\n".join([lines[0], "  ".join(["-" * width for width in widths]), *lines[1:]])
