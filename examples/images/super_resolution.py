"""Enlarge images threefold with a sub-pixel convolution (`PixelShuffle`), and beat bicubic interpolation.

The network works on the small image and ends in nine channels, one for each pixel that a pixel is to become. The images
are overlapping discs and bars, so there are sharp edges to learn.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SIZE, FACTOR = 36, 3


class Enlarge(nn.Module):
    def __init__(self, channels: int = 24) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, channels, 5, padding=2), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(),
            nn.Conv2d(channels, FACTOR**2, 3, padding=1),
            nn.PixelShuffle(FACTOR),
        )  # fmt: skip
        for layer in self.layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.orthogonal_(layer.weight, nn.init.calculate_gain("relu"))

    def forward(self, small: Tensor) -> Any:
        """What bicubic interpolation gives, and the details that it lacks."""
        return bicubic(small) + 0.1 * self.layers(small)


def bicubic(small: Tensor) -> Tensor:
    return F.interpolate(small, scale_factor=FACTOR, mode="bicubic", align_corners=False)


def drawings(count: int) -> Tensor:
    """Discs and bars in shades of grey: images of shape (count, 1, SIZE, SIZE)."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")
    images = torch.zeros(count, SIZE, SIZE)
    for _ in range(4):
        cx, cy, radius, shade, angle = torch.rand(5, count, 1, 1)
        u, v = x - 2 * cx + 1, y - 2 * cy + 1
        disc = u.hypot(v) < 0.5 * radius
        bar = (u * torch.cos(6 * angle) + v * torch.sin(6 * angle)).abs() < 0.2 * radius
        images = torch.where(disc ^ bar, shade, images)
    return images.unsqueeze(1)


def decibels(image: Tensor, truth: Tensor) -> float:
    """Peak signal-to-noise ratio."""
    return -10 * math.log10(F.mse_loss(image, truth).item())


def main(steps: int) -> None:
    torch.manual_seed(0)
    model = Enlarge()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [steps * 6 // 10, steps * 9 // 10], gamma=0.3)

    for step in range(steps):
        large = drawings(16)
        small = F.avg_pool2d(large, FACTOR)
        loss = F.mse_loss(model(small), large)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step < 5 or step % 25 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    large = drawings(100)
    small = F.avg_pool2d(large, FACTOR)
    with torch.no_grad():
        print(f"bicubic {decibels(bicubic(small), large):.2f} dB, network {decibels(model(small), large):.2f} dB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Super-resolution with PixelShuffle")
    parser.add_argument("--steps", type=int, default=150)
    main(parser.parse_args().steps)
