"""Images classified by several processes: each epoch, a DistributedSampler gives each its share of them.

    torchrun --nproc-per-node 2 examples/distributed/digits_sampler.py
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from ranks import say, start
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

EPOCHS, BATCH, CLASSES = 3, 16, 10


def blurred_glyphs(count: int, seed: int) -> Any:
    """Noisy 14x14 images of ten random glyphs, and which they show."""
    glyphs = (torch.rand(CLASSES, 1, 14, 14, generator=torch.Generator().manual_seed(7)) > 0.6).float()
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=generator)
    noise = torch.randn(count, 1, 14, 14, generator=generator)
    return TensorDataset(glyphs[labels] + 0.8 * noise, labels)


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1), nn.Linear(16 * 4 * 4, CLASSES),
    )  # fmt: skip


@torch.no_grad()
def evaluate(model: nn.Module, data: DataLoader[Any]) -> tuple[float, float]:
    """The loss and the accuracy over all that the processes have been given."""
    model.eval()
    sums = torch.zeros(3, dtype=torch.float64)
    for images, labels in data:
        scores = model(images)
        sums[0] += F.cross_entropy(scores, labels, reduction="sum")
        sums[1] += (scores.argmax(1) == labels).sum()
        sums[2] += len(labels)
    model.train()
    dist.all_reduce(sums)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()


def main() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(make_model())
    torch.manual_seed(rank)  # processes drop different things
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)

    train, test = blurred_glyphs(403, seed=1), blurred_glyphs(100, seed=2)  # 403 are not shared evenly
    sampler = DistributedSampler(train, num_replicas=size, rank=rank, shuffle=True, seed=3)
    batches = DataLoader(train, BATCH, sampler=sampler, num_workers=1, persistent_workers=True)
    tests = DataLoader(test, BATCH, sampler=DistributedSampler(test, shuffle=False))
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        total = 0.0
        for images, labels in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        schedule.step()
        say(f"epoch {epoch}  rank {rank}  {len(sampler)} samples  mean loss {total / len(batches):.5f}")
        bad, accuracy = evaluate(model, tests)
        if rank == 0:
            print(f"epoch {epoch}  test loss {bad:.5f}  accuracy {accuracy:.3f}")


if __name__ == "__main__":
    start(main)
