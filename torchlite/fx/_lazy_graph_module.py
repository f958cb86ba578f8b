"""Modules of graphs whose code is made when it is first needed."""

from __future__ import annotations

from typing import Any

from ..core.state import HoldingItems
from .codegen import PythonCode
from .graph_module import GraphModule

_lazy = {"wanted": False, "refused": False}


def _use_lazy_graph_module(should_use: bool) -> HoldingItems:
    """Inside, modules that `_make_graph_module` makes are lazy, or are not."""
    return HoldingItems(_lazy, {"wanted": should_use and not _lazy["refused"]})


def _force_skip_lazy_graph_module() -> HoldingItems:
    """Inside, nobody can ask for lazy ones."""
    return HoldingItems(_lazy, {"refused": True})


def _get_graph_module_cls() -> type[GraphModule]:
    """The class of modules that are made now."""
    return _LazyGraphModule if _lazy["wanted"] else GraphModule


def _make_graph_module(*args: Any, graph_module_cls: type[GraphModule] | None = None, **kwargs: Any) -> GraphModule:
    """A module of a graph, of the class that is used now."""
    return (graph_module_cls or _get_graph_module_cls())(*args, **kwargs)


class _LazyGraphModule(GraphModule):
    """Makes its code when it is run, or asked for."""

    @classmethod
    def from_graphmodule(cls, gm: GraphModule) -> GraphModule:
        """A lazy module of another's graph."""
        return gm if isinstance(gm, _LazyGraphModule) else cls(gm, gm.graph)

    @staticmethod
    def force_recompile(gm: GraphModule) -> None:
        """Make the code now, of a module that may be lazy."""
        if isinstance(gm, _LazyGraphModule):
            gm.real_recompile()

    def real_recompile(self) -> None:
        """Make the code, if that is still to be done."""
        if self._needs_recompile():
            self._real_recompile()

    def _needs_recompile(self) -> bool:
        return type(self).forward is _LazyGraphModule._lazy_forward

    def _real_recompile(self) -> PythonCode:
        return super().recompile()

    def _lazy_forward(self, *args: Any, **kwargs: Any) -> Any:
        self.real_recompile()
        return self(*args, **kwargs)

    forward = _lazy_forward

    def recompile(self) -> None:  # type: ignore[override]
        """Let the code be made when it is next needed."""
        type(self).forward = _LazyGraphModule._lazy_forward

    @property
    def code(self) -> str:
        self.real_recompile()
        return super().code

    def __str__(self) -> str:
        self.real_recompile()
        return super().__str__()
