"""Learning to learn (Reptile): weights from which a few steps fit any sine wave.

Train a copy of the network on one wave, then move the network a little towards where the copy has got. (MAML, which
differentiates through the steps, is in `func/maml_sinusoids.py`.)
"""

from __future__ import annotations

import argparse
import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))


def sine() -> Callable[..., Any]:
    """A wave of random amplitude and phase, as a function."""
    amplitude, phase = 0.5 + 3 * torch.rand(()), math.pi * torch.rand(())
    return lambda x: amplitude * torch.sin(x + phase)


def fit(model: nn.Module, x: Tensor, y: Tensor, steps: int) -> list[float]:
    """The loss before each step of plain gradient descent, and after the last."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return [*losses, nn.functional.mse_loss(model(x), y).item()]


def main(steps: int) -> None:
    torch.manual_seed(0)
    model = network()
    for step in range(steps):
        wave, x = sine(), torch.rand(20, 1) * 10 - 5
        learner = copy.deepcopy(model)
        loss = fit(learner, x, wave(x), steps=8)[-1]
        rate = 0.6 * (1 - step / steps)
        with torch.no_grad():
            for weight, learned in zip(model.parameters(), learner.parameters()):
                weight.lerp_(learned, rate)
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss:.6f}")

    wave, x = sine(), torch.linspace(-5, 5, 20).unsqueeze(1)
    for name, start in {"learned weights": model, "random weights": network()}.items():
        losses = fit(copy.deepcopy(start), x, wave(x), steps=16)
        print(f"a new wave from {name}: " + ", ".join(f"{loss:.2f}" for loss in losses[::4]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Meta-learning with Reptile")
    parser.add_argument("--steps", type=int, default=400)
    main(parser.parse_args().steps)
