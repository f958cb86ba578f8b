"""Learning to learn (MAML): parameters from which one step of gradient descent fits a new sine wave.

The loss after a step is differentiated through that step: `grad` in `grad`, under `vmap` over the waves.
Run with PyTorch, or with `python -m torchlite examples/func/maml_sinusoids.py`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from torch import Tensor
from torch.func import grad, grad_and_value, vmap

Pair = tuple[Tensor, Tensor]
Layers = list[Pair]


def make_params() -> Layers:
    sizes = [1, 32, 32, 1]
    return [(torch.randn(n, m) * math.sqrt(1 / n), torch.zeros(m)) for n, m in itertools.pairwise(sizes)]


def predict(params: Layers, x: Tensor) -> Tensor:
    for weight, bias in params[:-1]:
        x = torch.tanh(x @ weight + bias)
    weight, bias = params[-1]
    return x @ weight + bias


def loss(params: Layers, x: Tensor, y: Tensor) -> Tensor:
    return ((predict(params, x) - y) ** 2).mean()


def adapted(params: Layers, x: Tensor, y: Tensor, rate: float = 0.01) -> Layers:
    """The parameters after one step on a few points."""
    gradients = grad(loss)(params, x, y)
    return [(w - rate * dw, b - rate * db) for (w, b), (dw, db) in zip(params, gradients)]


def loss_after_a_step(params: Layers, few: Pair, many: Pair) -> Tensor:
    return loss(adapted(params, *few), *many)


def waves(count: int, points: int) -> tuple[Pair, Pair]:
    amplitude, phase = 0.5 + 4 * torch.rand(count, 1, 1), math.pi * torch.rand(count, 1, 1)
    x = 10 * torch.rand(count, 2 * points, 1) - 5
    y = amplitude * torch.sin(x + phase)
    return (x[:, :points], y[:, :points]), (x[:, points:], y[:, points:])


def main() -> None:
    torch.manual_seed(3)
    params = make_params()

    def mean_loss(params: Layers, few: Pair, many: Pair) -> Any:
        return vmap(loss_after_a_step, in_dims=(None, 0, 0))(params, few, many).mean()

    velocity = [(torch.zeros_like(w), torch.zeros_like(b)) for w, b in params]
    for step in range(60):
        gradients, value = grad_and_value(mean_loss)(params, *waves(16, 10))
        velocity = [(0.9 * vw + dw, 0.9 * vb + db) for (vw, vb), (dw, db) in zip(velocity, gradients)]
        params = [(w - 0.002 * vw, b - 0.002 * vb) for (w, b), (vw, vb) in zip(params, velocity)]
        if step % 10 == 0:
            print(f"step {step}: loss after one step on a new wave {value:.3f}")
    few, many = waves(1, 10)
    few, many = (few[0][0], few[1][0]), (many[0][0], many[1][0])
    print(f"a new wave: {loss(params, *many):.3f} before, {loss_after_a_step(params, few, many):.3f} after a step")


if __name__ == "__main__":
    main()
