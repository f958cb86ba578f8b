"""Hogwild: processes that train one model at the same time, without locks, in memory that they share.

Nothing here knows of torchlite. Run it with PyTorch, or with torchlite in PyTorch's place:

    python examples/hogwild.py
    python -m torchlite examples/hogwild.py
"""

from __future__ import annotations

from typing import Any

import torch
import torch.multiprocessing as mp
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset

PROCESSES, EPOCHS, LEARNING_RATE = 2, 6, 0.05


def rings(points: int) -> Any:
    """Points of the plane, and whether they lie in a ring around the origin."""
    generator = torch.Generator().manual_seed(0)
    positions = 4 * torch.rand(points, 2, generator=generator) - 2
    distance = positions.norm(dim=1)
    return TensorDataset(positions, ((distance > 0.7) & (distance < 1.6)).float())


def make_model() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))


def train(rank: Any, model: Any, data: Any, steps: Any) -> None:
    """Train on every PROCESSES-th point; `steps` counts the updates of each process."""
    torch.manual_seed(rank)
    share = Subset(data, range(rank, len(data), PROCESSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    for _ in range(EPOCHS):
        for positions, labels in DataLoader(share, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(model(positions), labels).backward()
            optimizer.step()
            steps[rank] += 1


@torch.no_grad()
def accuracy(model: nn.Module, data: Any) -> float:
    positions, labels = data.tensors
    return float(((model(positions) > 0) == labels.bool()).float().mean())


def main() -> float:
    data = rings(2000)
    model = make_model().share_memory()
    steps = torch.zeros(PROCESSES, dtype=torch.int64).share_memory_()
    print(f"before: {accuracy(model, data):.1%} of the points are classified correctly")
    mp.spawn(train, args=(model, data, steps), nprocs=PROCESSES)
    print(f"after {steps.tolist()} steps: {accuracy(model, data):.1%}")
    return float(accuracy(model, data))


if __name__ == "__main__":
    main()
