"""DistributedDataParallel in its simplest form: each process has a part of the batch, all have the same model.

    torchrun --nproc-per-node 2 examples/distributed/data_parallel.py
    python examples/distributed/data_parallel.py            starts its processes itself; PROCESSES=4 says how many
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn as nn
from ranks import say, start
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS, BATCH = 5, 16


class ToyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x: Tensor) -> Any:
        return self.net2(self.relu(self.net1(x)))


def whole_batch(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    return torch.randn(BATCH, 10, generator=generator), torch.randn(BATCH, 5, generator=generator)


def train_together() -> tuple[nn.Module, torch.optim.Optimizer]:
    """A step's gradients are the mean of those of all parts, which are those of the whole batch."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)  # DDP gives all the parameters of the first
    model = DDP(ToyModel())
    alone = ToyModel()
    alone.load_state_dict(model.module.state_dict())
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (model, alone)]
    for step in range(STEPS):
        inputs, targets = whole_batch(step)
        losses = []
        for m, optimizer, part in zip((model, alone), optimizers, (slice(rank, None, size), slice(None)), strict=True):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(m(inputs[part]), targets[part])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        dist.all_reduce(losses[0])
        together, one = losses[0].item() / size, losses[1].item()
        assert abs(together - one) < 1e-6, (together, one)
        if rank == 0:
            print(f"step {step}  loss {together:.6f} together, {one:.6f} in one process")
    return model, optimizers[0]


def save_and_load(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """One process writes, all read when it is done."""
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else ""]
    dist.broadcast_object_list(folder)
    path = Path(folder[0], "model.checkpoint")
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    dist.barrier()
    saved = torch.load(path, map_location="cpu", weights_only=True)
    again = DDP(ToyModel())
    again.load_state_dict(saved["model"])
    same = all(bool((a == b).all()) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    say(f"rank {dist.get_rank()}: {', '.join(saved['model'])}; the same parameters: {same}")
    if dist.get_rank() == 0:
        path.unlink()
        path.parent.rmdir()


def main() -> None:
    save_and_load(*train_together())


if __name__ == "__main__":
    start(main)
