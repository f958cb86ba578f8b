"""Starts the processes of these examples, unless torchrun or mpiexec has done so."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch.distributed as dist
import torch.multiprocessing as mp


def start(train: Callable[..., Any], processes: int = 2) -> None:
    """Run `train()` in each of several processes, in a process group of them all."""
    if "RANK" in os.environ:
        join(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), train)
        return
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)  # at a port that is free
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(store.port), TORCHELASTIC_USE_AGENT_STORE="True")
    count = int(os.environ.get("PROCESSES", processes))
    mp.spawn(join, args=(count, train), nprocs=count)


def join(rank: int, world_size: int, train: Callable[..., Any]) -> None:
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    train()
    dist.destroy_process_group()


def say(text: str) -> None:
    """Prints what every process has to say, in the order of ranks."""
    texts: list[Any] | None = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object(text, texts)
    if texts:
        print("\n".join(texts), flush=True)
