"""A generative adversarial network: one network draws digits, another tells them from real ones, and both improve."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
from digits import digits, show
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

NOISE = 16


def generator() -> nn.Module:
    return nn.Sequential(
        nn.ConvTranspose2d(NOISE, 64, 2), nn.BatchNorm2d(64), nn.ReLU(True),
        nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 1, 4, stride=2, padding=1, bias=False), nn.Tanh(),
    )  # fmt: skip


def discriminator() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 4, stride=2, padding=1), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(32, 64, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(64, 1, 2), nn.Flatten(0),
    )  # fmt: skip


def initialise(module: nn.Module) -> None:
    """Small normal weights, for convolutions and normalisations alike."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def judged(logits: Tensor, real: float) -> Tensor:
    """The loss of having called images real or not."""
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, real))


def endless(loader: DataLoader[Any]) -> Iterator[list[Tensor]]:
    """Batch after batch, epoch after epoch."""
    while True:
        yield from loader


def main(steps: int) -> None:
    torch.manual_seed(0)
    images, _ = digits()
    loader = DataLoader(TensorDataset(images * 2 - 1), batch_size=64, shuffle=True, drop_last=True)
    draw, judge = generator().apply(initialise), discriminator().apply(initialise)
    optimizer_d = torch.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optimizer_g = torch.optim.Adam(draw.parameters(), lr=2e-3, betas=(0.5, 0.999))
    fixed = torch.randn(6, NOISE, 1, 1)

    for step, (real,) in zip(range(steps), endless(loader)):
        fake = draw(torch.randn(len(real), NOISE, 1, 1))
        loss_d = judged(judge(real), 0.9) + judged(judge(fake.detach()), 0.0)
        optimizer_d.zero_grad()
        loss_d.backward()
        optimizer_d.step()

        loss_g = judged(judge(fake), 1.0)
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
        if step < 5 or step % 28 == 0:
            print(f"step {step:4d}  loss {loss_d.item():.6f}  of the generator {loss_g.item():.6f}")

    with torch.no_grad():
        show(*draw.eval()(fixed) / 2 + 0.5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Generative adversarial network")
    parser.add_argument("--steps", type=int, default=280)
    main(parser.parse_args().steps)
