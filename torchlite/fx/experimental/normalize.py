"""Graphs in which calls of one function are written in one way."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node
from ..operator_schemas import normalize_function, normalize_module
from ..proxy import Proxy
from .schema_type_annotation import AnnotateTypesWithSchema

_torch = importlib.import_module(__package__.partition(".")[0])


class NormalizeArgs(Transformer):
    """Gives arguments of functions and modules their names, and those that are not given their defaults."""

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        made = super().run_node(n)
        if n.op != "output":
            self.node_map[made] = n
            made.node.meta, made.node.type = n.meta, n.type
        return made

    def call_function(
        self, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any],
        arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        found = normalize_function(
            target, args, dict(kwargs), arg_types, kwarg_types, self.normalize_to_only_use_kwargs
        )
        return super().call_function(target, *((args, dict(kwargs)) if found is None else found))

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *((args, kwargs) if found is None else found))


class NormalizeOperators(AnnotateTypesWithSchema):
    """Writes functions that operators stand for as these operators."""

    binary_magic_method_remap: ClassVar[dict[Callable[..., Any], Callable[..., Any]]] = {
        getattr(_torch, name): getattr(operator, there)
        for name, there in dict(
            add="add", mul="mul", sub="sub", div="truediv", floor_divide="floordiv", remainder="mod", eq="eq", ne="ne",
            lt="lt", le="le", gt="gt", ge="ge",
        ).items()
    }  # fmt: skip

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operation = self.binary_magic_method_remap.get(target) if callable(target) else None
        if operation is not None and len(args) == 2 and not kwargs:
            return self.tracer.create_proxy("call_function", operation, args, {})
        return super().call_function(target, args, kwargs)
