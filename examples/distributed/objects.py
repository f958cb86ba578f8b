"""Python objects handed between processes: a configuration from the first, statistics to it, work shared out.

    torchrun --nproc-per-node 2 examples/distributed/objects.py
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from ranks import say, start


def main() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    settings = [{"lr": 0.1, "layers": [8, 4], "name": "a run"}, torch.arange(3)] if rank == 0 else [None, None]
    dist.broadcast_object_list(settings, src=0)
    say(f"rank {rank} was told {settings}")

    task: list[Any] = [None]
    dist.scatter_object_list(task, [f"files {n}, {n + size}, …" for n in range(size)] if rank == 0 else None, src=0)
    say(f"rank {rank} is to do {task[0]}")

    found = {"rank": rank, "words": ["word"] * rank, "mean": torch.tensor([1.0, 2.0, 3.0 + rank]).mean().item()}
    everyones: list[Any] = [None] * size
    dist.all_gather_object(everyones, found)
    say(f"rank {rank} knows of {sum(len(each['words']) for each in everyones)} words, "
        f"and that means are {[round(each['mean'], 4) for each in everyones]}")  # fmt: skip

    note = [f"from {rank}", rank] if rank == 0 else [None, None]
    if rank == 0:
        dist.send_object_list(note, dst=size - 1)
    elif rank == size - 1:
        dist.recv_object_list(note, src=0)
    say(f"rank {rank} holds {note}")


if __name__ == "__main__":
    start(main)
