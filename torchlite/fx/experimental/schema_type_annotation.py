"""Graphs whose nodes have the types that functions and modules say of their results."""

from __future__ import annotations

import inspect
from typing import Any

from ...core.machine import Tensor
from ...nn.modules.module import Module
from ..graph_module import GraphModule
from ..interpreter import Transformer

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Gives nodes types: of functions of `nn.functional`, of calls of modules, and of attributes."""

    def __init__(
        self, module: GraphModule, annotate_functionals: bool = True, annotate_modules: bool = True,
        annotate_get_attrs: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(module)
        self.annotate_functionals, self.annotate_modules = annotate_functionals, annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        functional = (getattr(target, "__module__", None) or "").endswith("nn.functional")
        kind = _type_of_result(target) if self.annotate_functionals and functional else None
        return _typed(super().call_function(target, args, kwargs), kind)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module = self.fetch_attr(target)
        kind = _type_of_result(type(module).forward) if self.annotate_modules else None
        return _typed(super().call_module(target, args, kwargs), kind)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            found: Any = self.module
            for part in target.split("."):
                found = getattr(found, part, None)
            kind = type(found) if isinstance(found, Module) else Tensor if isinstance(found, Tensor) else None
            return _typed(made, kind)
        return made


def _typed(made: Any, kind: Any) -> Any:
    made.node.type = made.node.type or kind
    return made


def _type_of_result(target: Any) -> Any:
    """What a function says that it gives, where it says it; this library's own name the class."""
    try:
        kind = inspect.signature(target).return_annotation
    except (TypeError, ValueError):
        return None
    if kind == "Tensor":
        return Tensor
    return None if kind in (inspect.Signature.empty, Any) or isinstance(kind, str) else kind
