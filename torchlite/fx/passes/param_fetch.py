"""What modules are made of, kept by the nodes that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...nn import AdaptiveAvgPool2d, BatchNorm2d, Conv2d, Linear, MaxPool2d, ReLU
from ...nn.modules.module import Module
from ..graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name: str, target_version: int) -> str:
    """An attribute's name in modules of another version: the same."""
    return name


# The version of a class, its attributes, and what they are called in modules of other versions.
module_fetch_book: dict[type[Module], tuple[int, list[str], Callable[[str, int], str]]] = {
    kind: (version, names.split(), default_matching)
    for kind, version, names in (
        (Linear, 1, "weight bias"),
        (Conv2d, 1, "weight bias kernel_size stride padding dilation groups padding_mode"),
        (BatchNorm2d, 2, "weight bias running_mean running_var eps"),
        (AdaptiveAvgPool2d, 1, ""),
        (MaxPool2d, 1, "kernel_size stride padding dilation return_indices ceil_mode"),
        (ReLU, 1, "inplace"),
    )
}


def extract_attrs_for_lowering(mod: Module) -> dict[str, Any]:
    """The class of a module by its name, and its attributes."""
    name = f"torch.{type(mod).__module__.partition('.')[2]}.{type(mod).__qualname__}"
    if type(mod) not in module_fetch_book:
        raise RuntimeError(f"{name} is not in the module_fetch_book yet")
    version, attributes, matching = module_fetch_book[type(mod)]
    if version < mod._version:
        raise RuntimeError(
            f"Fetcher version {version} try to fetch {name} version {mod._version}, please upgrade the "
            "module_fetch_book"
        )
    return {"name": name} | {a: getattr(mod, matching(a, mod._version)) for a in attributes}


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Let nodes of calls of modules have what these are made of, as `attrs_for_lowering`."""
    modules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            called = modules[str(node.target)]
            if isinstance(called, GraphModule):
                lift_lowering_attrs_to_nodes(called)
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(called)  # type: ignore[attr-defined]
