"""A model in stages, one in each process: activations of small batches go down the line, gradients come back.

    torchrun --nproc-per-node 2 examples/distributed/pipeline.py
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn as nn
from ranks import say, start
from torch import Tensor

STEPS, PARTS, BATCH, WIDTH = 5, 4, 8, 16


def forward(stage: nn.Module, part: int, inputs: Tensor, sending: list[Any]) -> tuple[Tensor, Tensor]:
    """What this stage makes of one part of the batch: what came from the stage before, and what went on."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    if rank == 0:
        received = inputs
    else:
        received = torch.empty(len(inputs), WIDTH)
        dist.recv(received, src=rank - 1, tag=part)
        received.requires_grad_()
    made = stage(received)
    if rank < last:
        sending.append(dist.isend(made.detach(), dst=rank + 1, tag=part))
    return received, made


def backward(part: int, received: Tensor, made: Tensor, targets: Tensor, sending: list[Any]) -> float:
    """From the loss, or from what the next stage sends; to the stage before. The loss, where it is."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    loss = None
    if rank == last:
        loss = nn.functional.mse_loss(made, targets) / PARTS
        loss.backward()
    else:
        gradient = torch.empty_like(made)
        dist.recv(gradient, src=rank + 1, tag=PARTS + part)
        made.backward(gradient)
    if rank:
        assert received.grad is not None
        sending.append(dist.isend(received.grad, dst=rank - 1, tag=PARTS + part))
    return loss.item() if loss is not None else 0.0


def main() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    stage = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.2)
    generator = torch.Generator().manual_seed(9)
    for step in range(STEPS):
        batch = torch.randn(PARTS * BATCH, WIDTH, generator=generator)
        inputs, targets = batch.chunk(PARTS), batch.roll(1, 1).chunk(PARTS)
        optimizer.zero_grad()
        sending: list[Any] = []
        done = [forward(stage, part, inputs[part], sending) for part in range(PARTS)]
        loss = sum([backward(part, *done[part], targets[part], sending) for part in range(PARTS)])
        for work in sending:
            work.wait()
        optimizer.step()
        if rank == size - 1:
            dist.send(torch.tensor([loss]), dst=0)
        if rank == 0:
            told = torch.zeros(1)
            dist.recv(told)  # from anyone
            print(f"step {step}  loss {told.item():.6f}")
    say(f"rank {rank}  weights {sum(p.double().norm().item() for p in stage.parameters()):.6f}")


if __name__ == "__main__":
    start(main)
