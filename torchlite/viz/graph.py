"""The autograd graph of a tensor, as boxes and arrows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..core.machine import Tensor
from ..nn.modules.module import Module
from .drawing import Box, Drawing, size


def graph(
    outputs: Tensor | Iterable[Tensor], params: Module | Mapping[str, Tensor] | None = None, saved: bool = True
) -> Drawing:
    """Draw the nodes that a backward pass from `outputs` would run, with what they keep for it.

    `params` names leaves: a module, or a dict of tensors. With `saved=False`, nodes say nothing of what they keep.
    Notebooks show the drawing, and `save("graph.svg")` writes it.

    >>> from torchlite import viz
    >>> x = torch.ones(2, requires_grad=True)
    >>> [box.title for box in viz.graph((x * x).sum(), {"x": x}).boxes]
    ['output', 'SumBackward0', 'MulBackward0', 'x']
    """
    many = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    named = dict(params.named_parameters()) if isinstance(params, Module) else params or {}
    names = {id(tensor): name for name, tensor in named.items()}
    boxes: list[Box] = []
    places: dict[Any, int] = {}  # of nodes, and of leaves that are outputs themselves
    arrows: list[tuple[int, int]] = []

    def place(node: Any, box: Box) -> int:
        places[node] = len(boxes)
        boxes.append(box)
        return places[node]

    for i, tensor in enumerate(many):
        at = place(("output", i), Box("output", "output" if len(many) == 1 else f"output {i}", [form(tensor)]))
        if tensor.grad_fn is None:
            continue
        for node in _unmet(tensor.grad_fn, places):
            leaf = getattr(node, "variable", None)
            if leaf is None:
                place(node, Box("node", node.name(), _kept(node) if saved else []))
            else:
                place(node, Box("leaf", names.get(id(leaf), "leaf"), [form(leaf)]))
        arrows.append((places[tensor.grad_fn], at))
    for node, at in places.items():
        sources = [] if isinstance(node, tuple) else [n for n, _ in node.next_functions if n is not None]
        arrows += dict.fromkeys([(places[source], at) for source in sources])
    return Drawing(boxes, arrows)


def _unmet(first: Any, places: Mapping[Any, int]) -> Iterable[Any]:
    """The nodes that one leads to, and itself, but for those that have a place; without recursion, for deep graphs."""
    waiting = [first]
    while waiting:
        node = waiting.pop()
        if node not in places:
            yield node
            waiting += [n for n, _ in reversed(node.next_functions) if n is not None]


def form(tensor: Tensor) -> str:
    """Shape, dtype and bytes of a tensor."""
    shape = "×".join(map(str, tensor.shape)) or "scalar"
    return f"{shape} {str(tensor.dtype).removeprefix('torch.')}, {size(tensor.nbytes)}"


def _kept(node: Any) -> list[str]:
    """What a node keeps for backward: tensors with their forms, and numbers."""
    said = []
    for attribute in sorted(dir(node)):
        name = attribute.removeprefix("_saved_")
        if name == attribute or "_sym_" in name:
            continue
        try:
            value = getattr(node, attribute)
        except RuntimeError:  # a backward pass freed it
            said.append(f"{name}: freed")
            continue
        if isinstance(value, Tensor):
            said.append(f"{name}: {form(value)}")
        elif isinstance(value, (bool, int, float, str)):
            shown = value - 2**64 if isinstance(value, int) and value >= 2**63 else value  # PyTorch shows negatives so
            said.append(f"{name} = {shown}")
    return said
