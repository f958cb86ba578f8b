"""Foretell sine waves: two LSTM cells read most of a wave, and then go on from their own predictions.

All waves are learned from at once, by L-BFGS, which asks for the loss several times a step (hence the closure).
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import Tensor, nn

WAVES, LENGTH, FUTURE = 24, 80, 40


class Sequence(nn.Module):
    def __init__(self, hidden: int = 24) -> None:
        super().__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, waves: Tensor, future: int = 0) -> Tensor:
        """The next value after each of those given, and then `future` more."""
        h1, c1, h2, c2 = (torch.zeros(len(waves), self.hidden, dtype=waves.dtype) for _ in range(4))
        outputs: list[Tensor] = []
        for value in [*waves.split(1, dim=1), *[None] * future]:
            h1, c1 = self.lstm1(outputs[-1] if value is None else value, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            outputs.append(self.linear(h2))
        return torch.cat(outputs, dim=1)


def waves(count: int, length: int) -> Tensor:
    """Sine waves that begin anywhere."""
    start = torch.randint(-40, 40, (count, 1))
    return torch.sin((torch.arange(length) + start).double() / 8)


def main(steps: int) -> None:
    torch.manual_seed(0)
    data = waves(WAVES, LENGTH + 1)
    inputs, targets = data[:, :-1], data[:, 1:]
    model = Sequence().double()
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=8)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        return loss

    for step in range(steps):
        loss = optimizer.step(closure)
        print(f"step {step:4d}  loss {loss.item():.6e}")

    with torch.no_grad():
        new = waves(4, LENGTH + FUTURE)
        found = model(new[:, :LENGTH], future=FUTURE - 1)
        print(f"error over {FUTURE} steps of future: {criterion(found[:, LENGTH - 1 :], new[:, LENGTH:]).item():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time series prediction with LSTM cells and L-BFGS")
    parser.add_argument("--steps", type=int, default=10)
    main(parser.parse_args().steps)
