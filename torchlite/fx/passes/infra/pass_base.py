"""What a pass over a graph is, and what it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from ....nn.modules.module import Module
from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module that a pass gives, and whether it changed it."""

    graph_module: Module
    modified: bool


class PassBase(ABC):
    """A pass. A subclass says in `call` what is done; it may check what it needs before and what holds after."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        made = self.call(graph_module)
        self.ensures(graph_module)
        return made

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Do it."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise an error where the module is none that the pass can take."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise an error where the module is not what the pass promises."""
