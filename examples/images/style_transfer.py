"""A network that repaints any image in one style, in a single pass.

It learns from the features of a fixed network: those of its output should be those of the image it was given (the
content), and their correlations, the Gram matrices, those of the style. Untrained features are good enough here.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SIZE = 32


class ConvBlock(nn.Sequential):
    def __init__(self, inputs: int, outputs: int, size: int = 3, stride: int = 1) -> None:
        super().__init__(
            nn.ReflectionPad2d(size // 2),
            nn.Conv2d(inputs, outputs, size, stride),
            nn.InstanceNorm2d(outputs, affine=True),
            nn.ReLU(),
        )


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = ConvBlock(channels, channels), ConvBlock(channels, channels)

    def forward(self, x: Tensor) -> Any:
        return x + self.second(self.first(x))


class Painter(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            ConvBlock(3, 8, size=5), ConvBlock(8, 16, stride=2),
            Residual(16), Residual(16),
            nn.Upsample(scale_factor=2, mode="nearest"), ConvBlock(16, 8),
            nn.ReflectionPad2d(2), nn.Conv2d(8, 3, 5), nn.Sigmoid(),
        )  # fmt: skip


class Features(nn.Module):
    """The outputs of the layers of a convolutional network that stays as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(3, 16, 3), nn.Conv2d(16, 32, 3, stride=2), nn.Conv2d(32, 32, 3)])
        for layer in self.layers:
            nn.init.orthogonal_(layer.weight, gain=2.0)
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> list[Tensor]:
        found = []
        for layer in self.layers:
            x = F.relu(layer(x))
            found.append(x)
        return found


def gram(features: Tensor) -> Any:
    """How the channels go together, wherever in the image."""
    n, channels, height, width = features.shape
    flat = features.view(n, channels, height * width)
    return flat @ flat.transpose(1, 2) / (channels * height * width)


def scenes(count: int) -> Tensor:
    """Soft coloured hills: images of shape (count, 3, SIZE, SIZE)."""
    coarse = torch.rand(count, 3, 5, 5)
    return F.interpolate(coarse, size=(SIZE, SIZE), mode="bilinear", align_corners=True)


def style_image() -> Tensor:
    """Diagonal stripes in three colours."""
    y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    phases = torch.tensor([0.0, 1.5, 3.0]).view(3, 1, 1)
    return (0.5 + 0.5 * torch.sin((x + y) * math.pi / 4 + phases)).unsqueeze(0)


def main(steps: int) -> None:
    torch.manual_seed(0)
    features, painter = Features(), Painter()
    wanted = [gram(found) for found in features(style_image())]
    optimizer = torch.optim.Adam(painter.parameters(), lr=5e-3)

    for step in range(steps):
        images = scenes(4)
        painted = features(painter(images))
        content = F.mse_loss(painted[1], features(images)[1])
        styles = [F.mse_loss(gram(found), want.expand(4, -1, -1)) for found, want in zip(painted, wanted)]
        style = torch.stack(styles).sum()
        loss = content + 100 * style
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 20 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}  content {content.item():.4f}  style {style.item():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fast style transfer with Gram matrices")
    parser.add_argument("--steps", type=int, default=150)
    main(parser.parse_args().steps)
