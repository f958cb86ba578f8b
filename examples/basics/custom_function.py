"""A network whose weights are only -1 or +1, trained through a `torch.autograd.Function` of our own.

The sign of a number has no useful derivative, so the backward pass pretends that rounding did nothing (the
straight-through estimator), except where the weight is so large that moving it further would be in vain.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor) -> Tensor:
        ctx.save_for_backward(weight)
        return torch.where(weight >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (weight,) = ctx.saved_tensors
        return grad * (weight.abs() <= 1)


class BinaryLinear(nn.Linear):
    """A linear layer that keeps real weights for the optimizer, and computes with their signs."""

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, Binarize.apply(self.weight), self.bias) / math.sqrt(self.in_features)


def rings(count: int) -> tuple[Tensor, Tensor]:
    """Points in the plane, and which of three rings around the origin each lies in."""
    points = torch.rand(count, 2) * 2 - 1
    return points, (points.norm(dim=1) * 2.5).long().clamp(max=2)


def main(steps: int) -> None:
    torch.manual_seed(0)
    points, labels = rings(512)
    model = nn.Sequential(
        nn.Linear(2, 64), nn.BatchNorm1d(64), nn.Tanh(),
        BinaryLinear(64, 64), nn.BatchNorm1d(64), nn.Tanh(),
        BinaryLinear(64, 3),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=steps)

    for step in range(steps):
        loss = F.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    model.eval()
    points, labels = rings(512)
    accuracy = (model(points).argmax(1) == labels).float().mean()
    print(f"accuracy on new points {accuracy:.1%}, binary weights {Binarize.apply(model[3].weight).unique().tolist()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Binary weights by a custom autograd Function")
    parser.add_argument("--steps", type=int, default=300)
    main(parser.parse_args().steps)
