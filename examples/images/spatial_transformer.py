"""A network that turns its input upright before it looks: a spatial transformer (`affine_grid` and `grid_sample`).

A small part of the network predicts an affine map for each image, by which the image is sampled anew. Nobody tells it
how an image was rotated; it learns to undo that because it makes classification easier.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from digits import digits
from torch import Tensor, nn
from torch.nn import functional as F


def resampled(images: Tensor, maps: Tensor) -> Tensor:
    grid = F.affine_grid(maps, images.shape, align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def rotated(images: Tensor, largest: float = math.pi / 3) -> Tensor:
    """Each image turned by an angle of its own."""
    angle = (torch.rand(len(images)) * 2 - 1) * largest
    cos, sin, zero = angle.cos(), angle.sin(), torch.zeros_like(angle)
    return resampled(images, torch.stack([cos, -sin, zero, sin, cos, zero], dim=1).view(-1, 2, 3))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.locate = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(128, 32), nn.Tanh(), nn.Linear(32, 6),
        )  # fmt: skip
        nn.init.zeros_(self.locate[-1].weight)
        self.locate[-1].bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))  # the map that changes nothing
        self.classify = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(144, 10),
        )  # fmt: skip

    def forward(self, images: Tensor) -> Any:
        return self.classify(resampled(images, self.locate(images).view(-1, 2, 3)))


def main(steps: int) -> None:
    torch.manual_seed(0)
    images, labels = digits()
    model = Net()
    optimizer = torch.optim.Adamax(model.parameters(), lr=5e-3)

    for step in range(steps):
        batch = torch.randint(0, 1500, (64,))
        loss = F.cross_entropy(model(rotated(images[batch])), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    with torch.no_grad():
        found = model(rotated(images[1500:])).argmax(1)
    print(f"accuracy on rotated digits {(found == labels[1500:]).float().mean():.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Spatial transformer network")
    parser.add_argument("--steps", type=int, default=300)
    main(parser.parse_args().steps)
