"""Fit a cubic to noisy points, first by gradient descent on a linear layer over powers of x, then in closed form.

The learned coefficients approach those of least squares, and both come near the truth.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn

TRUTH = torch.tensor([-2.0, 0.5, 1.5])  # of x, x² and x³


def powers(x: Tensor) -> Tensor:
    """x, x² and x³ as three features."""
    return torch.stack([x, x**2, x**3], dim=1)


def samples(count: int) -> tuple[Tensor, Tensor]:
    x = torch.empty(count).uniform_(-1, 1)
    y = powers(x) @ TRUTH + 0.3 + 0.05 * torch.randn(count)
    return powers(x), y.unsqueeze(1)


def show(name: str, bias: float, weights: list[float]) -> None:
    terms = "".join(f" {w:+.3f} x^{n}" for n, w in enumerate(weights, start=1))
    print(f"{name:17s} y = {bias:.3f}{terms}")


def main(steps: int) -> None:
    torch.manual_seed(0)
    features, targets = samples(200)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, nesterov=True)

    for step in range(steps):
        loss = nn.functional.mse_loss(model(features), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 100 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    with_ones = torch.cat([torch.ones(len(features), 1), features], dim=1)
    bias, *weights = torch.linalg.solve(with_ones.T @ with_ones, with_ones.T @ targets).flatten().tolist()
    show("gradient descent:", model.bias.item(), model.weight.flatten().tolist())
    show("least squares:", bias, weights)
    show("truth:", 0.3, TRUTH.tolist())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Polynomial regression")
    parser.add_argument("--steps", type=int, default=500)
    main(parser.parse_args().steps)
