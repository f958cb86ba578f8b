"""Look inside a network while it learns: hooks report activations and gradients, layer by layer.

The same deep perceptron is trained with a small and with a fitting initialisation. Hooks show why the first stays where
it is: what flows back to its first layers is next to nothing.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

DEPTH, WIDTH = 8, 32


class Probe:
    """Keeps, for each layer, the spread of its last output and of the gradient with respect to that output."""

    def __init__(self, model: nn.Module) -> None:
        self.activations: dict[str, float] = {}
        self.gradients: dict[str, float] = {}
        self.handles = []
        for name, layer in model.named_children():
            if isinstance(layer, nn.Linear):
                self.handles.append(layer.register_forward_hook(self.keep(self.activations, name)))
                self.handles.append(layer.register_full_backward_hook(self.keep(self.gradients, name)))

    @staticmethod
    def keep(table: dict[Any, Any], name: str) -> Callable[..., Any]:
        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            output = output[0] if isinstance(output, tuple) else output
            table[name] = output.detach().std().item()

        return hook

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def perceptron(gain: float) -> nn.Module:
    """A narrow, deep network; the weights of each layer scale its input by about `gain`."""
    widths = [2] + [WIDTH] * DEPTH
    layers = []
    for inputs, outputs in itertools.pairwise(widths):
        layer = nn.Linear(inputs, outputs)
        nn.init.normal_(layer.weight, std=gain / math.sqrt(inputs))
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 1))


def main(steps: int) -> None:
    for gain in (0.3, 1.4):
        torch.manual_seed(0)
        points = torch.randn(256, 2)
        targets = (points[:, :1] * points[:, 1:]).sign()
        model = perceptron(gain)
        probe = Probe(model)
        clipped = [p.register_hook(lambda grad: grad.clamp(-0.05, 0.05)) for p in model.parameters()]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        print(f"weights scaled by {gain}")
        for step in range(steps):
            loss = nn.functional.soft_margin_loss(model(points), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step == 0:
                for name in probe.activations:
                    print(f"  layer {name:2s}  activations {probe.activations[name]:.2e}", end="")
                    print(f"  gradients {probe.gradients[name]:.2e}")
                probe.remove()
            if step < 5 or step % 50 == 0:
                print(f"step {step:4d}  loss {loss.item():.6f}")
        for handle in clipped:
            handle.remove()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Hooks that watch activations and gradients")
    parser.add_argument("--steps", type=int, default=200)
    main(parser.parse_args().steps)
