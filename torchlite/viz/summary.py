"""The layers of a model, as a table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor
from ..nn.modules.module import Module
from .drawing import size
from .tables import html_table


class Layer(NamedTuple):
    """A module in the order of calls: how deep it lies, what it gave, and what that took."""

    depth: int
    name: str
    kind: str
    shapes: str
    params: int
    bytes: int
    seconds: float


class Summary:
    """The layers that ran, and sums over them."""

    def __init__(self, layers: Sequence[Layer], params: int, trained: int) -> None:
        self.layers = list(layers)
        self.params = params
        self.trained = trained

    def rows(self) -> list[list[str]]:
        return [["layer", "class", "output", "parameters", "memory", "time"]] + [
            [
                "  " * layer.depth + layer.name, layer.kind, layer.shapes, f"{layer.params:,}", size(layer.bytes),
                f"{layer.seconds * 1e3:.2f} ms",
            ]
            for layer in self.layers
        ]  # fmt: skip

    def _sums(self) -> str:
        return f"{self.params:,} parameters, of which {self.trained:,} are trained"

    def __repr__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [
            "  ".join(cell.ljust(w) if i < 3 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))
            for row in rows
        ]
        rule = "-" * len(lines[0])
        return "\n".join([lines[0], rule, *[line.rstrip() for line in lines[1:]], rule, self._sums()])

    def _repr_html_(self) -> str:
        return html_table(self.rows(), self._sums())


def summary(model: Module, *inputs: Any, **named: Any) -> Summary:
    """Call a model once, without gradients, and tell each layer's output, parameters, memory and time.

    A layer's parameters and time include those of the layers in it; its memory is that of its output.

    >>> from torchlite import viz
    >>> print(repr(viz.summary(nn.Linear(3, 4), torch.ones(2, 3))).splitlines()[-1])
    16 parameters, of which 16 are trained
    """
    names = {module: name for name, module in model.named_modules()}
    begun: list[tuple[int, float]] = []
    layers: list[Layer] = []

    def enter(module: Module, args: tuple[Any, ...]) -> None:
        begun.append((len(layers), time.perf_counter()))
        layers.append(Layer(0, "", "", "", 0, 0, 0.0))

    def leave(module: Module, args: tuple[Any, ...], output: Any) -> None:
        at, start = begun.pop()
        tensors = _tensors(output)
        layers[at] = Layer(
            len(begun), names[module].rpartition(".")[2] or "model", type(module).__name__,
            ", ".join(["×".join(map(str, t.shape)) for t in tensors]), sum(p.numel() for p in module.parameters()),
            sum(t.nbytes for t in tensors), time.perf_counter() - start,
        )  # fmt: skip

    handles = [h for m in names for h in (m.register_forward_pre_hook(enter), m.register_forward_hook(leave))]
    try:
        with no_grad():
            model(*inputs, **named)
    finally:
        for handle in handles:
            handle.remove()
    params = list(model.parameters())
    trained = sum(p.numel() for p in params if p.requires_grad)
    return Summary(layers, sum(p.numel() for p in params), trained)


def _tensors(output: Any) -> list[Tensor]:
    """The tensors in what a module gave."""
    if isinstance(output, Tensor):
        return [output]
    items = output.values() if isinstance(output, dict) else output if isinstance(output, (tuple, list)) else ()
    return [t for item in items for t in _tensors(item)]
