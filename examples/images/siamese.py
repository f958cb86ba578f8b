"""A siamese network: one embedding for both images of a pair, near each other if they show the same digit.

It is trained on the digits 0 to 6 only, and then asked about 7, 8 and 9, which it has never seen: one example of each
goes a long way to tell others apart.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from digits import digits
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset[Any]):
    """Pairs of images, half of them of the same digit, and 1.0 for those."""

    def __init__(self, images: Tensor, labels: Tensor, count: int) -> None:
        self.images = images
        self.by_digit = [torch.nonzero(labels == digit).flatten() for digit in labels.unique()]
        self.count = count

    def __len__(self) -> int:
        return self.count

    def pick(self, digit: int) -> Tensor:
        members = self.by_digit[digit]
        return self.images[members[torch.randint(len(members), ())]]

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, float]:
        first, other = torch.randperm(len(self.by_digit))[:2].tolist()
        same = index % 2 == 0
        return self.pick(first), self.pick(first if same else other), float(same)


class Embedding(nn.Module):
    def __init__(self, size: int = 16) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(),
        )  # fmt: skip
        self.project = nn.Linear(32 * 4 * 4, size)

    def forward(self, images: Tensor) -> Tensor:
        return F.normalize(self.project(self.features(images).flatten(1)), dim=1)


def contrastive(first: Tensor, second: Tensor, same: Tensor, margin: float = 1.0) -> Tensor:
    """Pulls pairs of the same digit together, and pushes others at least `margin` apart."""
    distance = F.pairwise_distance(first, second)
    return torch.mean(same * distance**2 + (1 - same) * F.relu(margin - distance) ** 2)


def main(steps: int) -> None:
    torch.manual_seed(0)
    images, labels = digits()
    seen = labels < 7
    pairs = Pairs(images[seen], labels[seen], count=64 * steps)
    model = Embedding()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

    for step, (first, second, same) in enumerate(DataLoader(pairs, batch_size=64)):
        loss = contrastive(model(first), model(second), same.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 20 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    model.eval()
    with torch.no_grad():
        embedded, labels = model(images[~seen]), labels[~seen]
        examples = torch.stack([embedded[labels == digit][0] for digit in (7, 8, 9)])
        found = torch.cdist(embedded, examples).argmin(1) + 7
    print(f"digits never seen, told apart by one example of each: {(found == labels).float().mean():.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Siamese network with a contrastive loss")
    parser.add_argument("--steps", type=int, default=120)
    main(parser.parse_args().steps)
