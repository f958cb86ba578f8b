"""A physics-informed network: solve a differential equation by training a network to satisfy it.

The heat equation u_t = a u_xx on a rod whose ends are kept cold, from u = sin(pi x). The derivatives of the network by
its inputs come from `torch.autograd.grad`, and are themselves differentiated for training.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from torch import Tensor, nn

DIFFUSIVITY = 0.3


class Rod(nn.Module):
    """u(x, t), made so that the ends are cold and the beginning is right whatever the network says."""

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1)
        )

    def forward(self, x: Tensor, t: Tensor) -> Any:
        found = self.network(torch.stack([x, t], dim=1)).squeeze(1)
        return torch.sin(math.pi * x) + t * x * (1 - x) * found


def derivative(y: Tensor, x: Tensor) -> Tensor:
    (found,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
    return found


def residual(model: Rod, x: Tensor, t: Tensor) -> Tensor:
    """By how much the equation is violated at each point."""
    u = model(x, t)
    return derivative(u, t) - DIFFUSIVITY * derivative(derivative(u, x), x)


def truth(x: Tensor, t: Tensor) -> Tensor:
    return torch.exp(-DIFFUSIVITY * math.pi**2 * t) * torch.sin(math.pi * x)


def main(steps: int) -> None:
    torch.manual_seed(0)
    model = Rod()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.993)

    for step in range(steps):
        x, t = torch.rand(2, 128).unbind()
        loss = residual(model, x.requires_grad_(), t.requires_grad_()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    with torch.no_grad():
        x, t = torch.meshgrid(torch.linspace(0, 1, 21), torch.linspace(0, 1, 21), indexing="ij")
        error = (model(x.flatten(), t.flatten()) - truth(x.flatten(), t.flatten())).abs().max()
    print(f"largest error anywhere {error:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Physics-informed network for the heat equation")
    parser.add_argument("--steps", type=int, default=600)
    main(parser.parse_args().steps)
