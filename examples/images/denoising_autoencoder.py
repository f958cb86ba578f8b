"""Clean noisy images: a convolutional autoencoder that is shown noise, and asked for the digit below it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
from digits import digits, show
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.LeakyReLU(0.1),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.LeakyReLU(0.1),
        )  # fmt: skip
        self.decode = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.GroupNorm(4, 16), nn.LeakyReLU(0.1),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
        )  # fmt: skip

    def forward(self, images: Tensor) -> Tensor:
        return torch.sigmoid(self.decode(self.encode(images)))


def noisy(images: Tensor) -> Tensor:
    return (images + 0.4 * torch.randn_like(images)).clamp(0, 1)


def endless(loader: DataLoader[Any]) -> Iterator[list[Tensor]]:
    """Batch after batch, epoch after epoch."""
    while True:
        yield from loader


def main(steps: int) -> None:
    torch.manual_seed(0)
    images, _ = digits()
    loader = DataLoader(TensorDataset(images[100:]), batch_size=64, shuffle=True, drop_last=True)
    model = Autoencoder()
    optimizer = torch.optim.NAdam(model.parameters(), lr=3e-3)

    for step, (clean,) in zip(range(steps), endless(loader)):
        loss = F.mse_loss(model(noisy(clean)), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 40 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    clean = images[:100]
    dirty = noisy(clean)
    with torch.no_grad():
        cleaned = model(dirty)
    print(f"error before {F.mse_loss(dirty, clean):.4f}, after {F.mse_loss(cleaned, clean):.4f}")
    show(*dirty[:4])
    show(*cleaned[:4])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Denoising autoencoder")
    parser.add_argument("--steps", type=int, default=200)
    main(parser.parse_args().steps)
