"""A neural differential equation: learn how a system moves from glimpses of where it went.

The derivative is a network; its solution by Euler's method is a chain of small steps, through which autograd goes back.
The true motion is a damped swing whose force grows with the cube of the way.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

DT = 0.025


class Derivative(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        nn.init.normal_(self.network[2].weight, std=0.05)

    def forward(self, state: Tensor) -> Any:
        return self.network(state**3)


def truth(state: Tensor) -> Tensor:
    matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    return state**3 @ matrix.T


def euler(derivative: Callable[..., Any] | Derivative, state: Tensor, steps: int) -> Tensor:
    """The states at all times, the first included: (steps + 1, …)."""
    states = [state]
    for _ in range(steps):
        state = state + DT * derivative(state)
        states.append(state)
    return torch.stack(states)


def main(steps: int) -> None:
    torch.manual_seed(0)
    with torch.no_grad():
        trajectory = euler(truth, torch.tensor([[1.2, 0.0]]), 400).squeeze(1)
    model = Derivative()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)

    for step in range(steps):
        start = torch.randint(len(trajectory) - 20, (32,))
        wanted = trajectory[start + torch.arange(21).unsqueeze(1)]
        loss = (euler(model, trajectory[start], 20) - wanted).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    with torch.no_grad():
        predicted = euler(model, trajectory[0], 100)
    print(f"mean error over the first 5 seconds {(predicted - trajectory[:101]).norm(dim=1).mean():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Neural ODE by Euler's method")
    parser.add_argument("--steps", type=int, default=300)
    main(parser.parse_args().steps)
