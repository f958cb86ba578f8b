"""Denoising diffusion in the plane: from noise to a spiral, a little at a time.

Points of the data are blurred step by step until only noise is left; a network learns to tell, from a blurred point and
how far it has gone, the noise in it. Taking a little of that away, again and again, turns noise into data.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from torch import Tensor, nn

TIMES = 50
BETAS = torch.linspace(1e-4, 0.2, TIMES)  # how much noise each step adds
KEPT = torch.cumprod(1 - BETAS, dim=0)  # how much of the data is left after it


class Denoiser(nn.Module):
    """The noise in each point, given how many steps it has gone."""

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.time = nn.Embedding(TIMES, hidden)
        self.enter = nn.Linear(2, hidden)
        self.layers = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(2))
        self.leave = nn.Linear(hidden, 2)

    def forward(self, x: Tensor, time: Tensor) -> Any:
        hidden = self.enter(x)
        for layer in self.layers:
            hidden = hidden + layer(nn.functional.mish(hidden + self.time(time)))
        return self.leave(nn.functional.mish(hidden))


def spiral(count: int) -> Tensor:
    turn = 3 * math.pi * torch.rand(count).sqrt()
    return torch.stack([turn.cos(), turn.sin()], dim=1) * turn.unsqueeze(1) / 5 + 0.03 * torch.randn(count, 2)


def noised(x: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
    noise = torch.randn_like(x)
    kept = KEPT[time].unsqueeze(1)
    return kept.sqrt() * x + (1 - kept).sqrt() * noise, noise


@torch.no_grad()
def sample(model: Denoiser, count: int) -> Tensor:
    x = torch.randn(count, 2)
    for time in reversed(range(TIMES)):
        noise = model(x, torch.full((count,), time))
        x = (x - BETAS[time] / (1 - KEPT[time]).sqrt() * noise) / (1 - BETAS[time]).sqrt()
        if time > 0:
            x = x + BETAS[time].sqrt() * torch.randn_like(x)
    return x


def main(steps: int) -> None:
    torch.manual_seed(0)
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, steps, power=0.9)

    for step in range(steps):
        x, noise = noised(spiral(512), time := torch.randint(TIMES, (512,)))
        loss = nn.functional.mse_loss(model(x, time), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step < 5 or step % 100 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    drawn, true = sample(model, 500), spiral(2000)
    print(f"mean distance of samples from the spiral {torch.cdist(drawn, true).min(dim=1).values.mean():.3f}")
    print(f"and of plain noise {torch.cdist(torch.randn(500, 2), true).min(dim=1).values.mean():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Denoising diffusion")
    parser.add_argument("--steps", type=int, default=800)
    main(parser.parse_args().steps)
