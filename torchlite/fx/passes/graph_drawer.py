"""Drawings of graphs."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from ..graph_module import GraphModule
from ..node import Node

__all__ = ["Drawing", "FxGraphDrawer"]

_WIDTH, _HEIGHT, _GAP = 340, 44, 26
_COLOURS = {
    "placeholder": "AliceBlue", "call_module": "LemonChiffon1", "get_param": "Yellow2", "get_attr": "LightGrey",
    "output": "PowderBlue", "call_function": "PaleGreen", "call_method": "Wheat",
}  # fmt: skip
_SVG = {"LemonChiffon1": "LemonChiffon", "Yellow2": "Gold"}


class Drawing:
    """A graph as boxes from top to bottom, with arrows for what is used."""

    def __init__(self, name: str, nodes: list[Node]) -> None:
        self.name, self.nodes = name, nodes

    def create_svg(self) -> bytes:
        """The drawing, as SVG."""
        place = {node: at * (_HEIGHT + _GAP) + 10 for at, node in enumerate(self.nodes)}
        height = len(self.nodes) * (_HEIGHT + _GAP) + 10
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 140}" height="{height}" '
            'font-family="monospace" font-size="11">',
            f"<title>{escape(self.name)}</title>",
            '<defs><marker id="arrow" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
            '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>',
        ]
        for node, top in place.items():
            colour = _COLOURS.get(node.op, "White")
            lines.append(
                f'<rect x="10" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" stroke="black" '
                f'fill="{_SVG.get(colour, colour)}"/>'
            )
            told = (f"%{node.name} : {node.op}", node._pretty_print_target(node.target))
            for at, text in enumerate(told):
                lines.append(f'<text x="18" y="{top + 18 + 16 * at}">{escape(text)}</text>')
        for node, top in place.items():
            for used in node.all_input_nodes:
                start, end = place[used] + _HEIGHT, top
                bend = _WIDTH + 10 + min(110, (end - start) // 3)
                path = f"M{_WIDTH - 20},{start} "
                near = end - start <= _GAP
                path += f"L{_WIDTH - 20},{end}" if near else f"C{bend},{start} {bend},{end} {_WIDTH + 10},{end + 20}"
                lines.append(f'<path d="{path}" fill="none" stroke="black" marker-end="url(#arrow)"/>')
        return "\n".join([*lines, "</svg>"]).encode()

    def write_svg(self, path: str | Path) -> None:
        """Write the drawing to a file."""
        Path(path).write_bytes(self.create_svg())

    def to_string(self) -> str:
        """The graph in the language of graphviz."""
        lines = [f"digraph {self.name} {{", "rankdir=TB;"]
        for node in self.nodes:
            label = f"{{name=%{node.name}|op_code={node.op}\\n|target={node._pretty_print_target(node.target)}\\n}}"
            lines.append(f'"{node.name}" [label="{label}", shape=record, style="filled,rounded", '
                         f'fillcolor={_COLOURS.get(node.op, "White")}];')  # fmt: skip
        for node in self.nodes:
            lines += [f'"{used.name}" -> "{node.name}";' for used in node.all_input_nodes]
        return "\n".join([*lines, "}"])


class FxGraphDrawer:
    """Draws the graph of a module, and those of its submodules."""

    def __init__(self, graph_module: GraphModule, name: str, **_: Any) -> None:
        self._name = name
        self._drawings = {name: Drawing(name, list(graph_module.graph.nodes))}
        for inner, module in graph_module.named_modules():
            if inner and isinstance(module, GraphModule):
                self._drawings[f"{name}_{inner}"] = Drawing(f"{name}_{inner}", list(module.graph.nodes))

    def get_dot_graph(self, submod_name: str | None = None) -> Drawing:
        """The drawing, of a submodule if it is named."""
        return self._drawings[self._name if submod_name is None else submod_name]

    get_main_dot_graph = get_dot_graph

    def get_submod_dot_graph(self, submod_name: str) -> Drawing:
        return self._drawings[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Drawing]:
        return dict(self._drawings)
