"""Which nodes something else can run."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.values.dtype import dtype
from ...nn.modules.module import Module
from ..node import Node
from .shape_prop import TensorMetadata
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]

Modules = Mapping[str, Module]


class OperatorSupportBase(abc.ABC):
    """Says of a node whether it is supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Modules, node: Node) -> bool:
        """Whether it is."""


class OperatorSupport(OperatorSupportBase):
    """Supports the targets of a table: with any arguments, or with those whose dtypes are named."""

    _support_dict: Mapping[str, Any]

    def __init__(self, support_dict: Mapping[str, Any] | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Modules, node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        kinds = self._support_dict[target]
        if kinds is None:
            return True
        by_place, by_name = kinds
        given = {at: _get_arg_dtype(arg) for at, arg in enumerate(node.args) if isinstance(arg, Node)}
        named = {name: _get_arg_dtype(arg) for name, arg in node.kwargs.items() if isinstance(arg, Node)}
        return all(given.get(at) in wanted for at, wanted in enumerate(by_place) if at in given) and all(
            named[name] in wanted for name, wanted in by_name.items() if name in named
        )


class _Said(OperatorSupportBase):
    def __init__(self, say: Callable[[Modules, Node], bool]) -> None:
        self.say = say

    def is_node_supported(self, submodules: Modules, node: Node) -> bool:
        return self.say(submodules, node)


def create_op_support(is_node_supported: Callable[[Modules, Node], bool]) -> OperatorSupportBase:
    """What a function says."""
    return _Said(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What all of these support."""
    return _Said(lambda submodules, node: all(s.is_node_supported(submodules, node) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What any of these supports."""
    return _Said(lambda submodules, node: any(s.is_node_supported(submodules, node) for s in op_support))


class OpSupports:
    """Kinds of support that are often wanted."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: dtype) -> OperatorSupportBase:
        """Support of nodes none of whose operands has this dtype."""
        return _Said(lambda _, node: all(_get_arg_dtype(arg) != dtype for arg in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Support of nodes but for those of these names."""
        return _Said(lambda _, node: node.name not in disallow_set)


def _get_arg_dtype(arg: Node) -> Any:
    found = arg.meta.get("tensor_meta")
    if isinstance(found, TensorMetadata):
        return found.dtype
    if isinstance(found, Sequence):
        return found[0].dtype
    return arg.meta["type"]
