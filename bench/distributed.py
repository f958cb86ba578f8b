"""Collectives and a training step of two processes on this host, by the clock on the wall.

The other process of each library is told by a line on its standard input what to take part in, and how often. Small
collectives are made many at a time, so that this line hardly counts.
"""

from __future__ import annotations

import functools
import importlib
import socket
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .timing import Workload

KILOBYTES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536)
CALLS = {
    "all_reduce": lambda dist, x, _: dist.all_reduce(x),
    "broadcast": lambda dist, x, _: dist.broadcast(x, 0),
    "all_gather": lambda dist, x, outs: dist.all_gather(outs, x),
    "send and recv": lambda dist, x, _: dist.send(x, 1) if dist.get_rank() == 0 else dist.recv(x, 0),
    "barrier": lambda dist, x, _: dist.barrier(),
}  # fmt: skip


class Pair:
    """This process and another, in which the same library runs."""

    def __init__(self, torch: ModuleType) -> None:
        with socket.create_server(("localhost", 0)) as server:
            port = server.getsockname()[1]
        command = [sys.executable, "-m", "bench.distributed", torch.__name__, str(port)]
        self.other = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
        self.run = joined(torch, port, 0)

    def __call__(self, name: str, kilobytes: int, times: int) -> None:
        assert self.other.stdin is not None
        self.other.stdin.write(f"{name}|{kilobytes}|{times}\n")
        self.other.stdin.flush()
        self.run(name, kilobytes, times)


pair = functools.cache(Pair)


def joined(torch: Any, port: int, rank: int) -> Callable[[str, int, int], None]:
    """Become one of two, and say how to take part in something."""
    dist: Any = importlib.import_module(f"{torch.__name__}.distributed")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://localhost:{port}", rank=rank, world_size=2)

    @functools.cache
    def memory(kilobytes: int) -> tuple[Any, list[Any]]:
        x = torch.zeros(kilobytes * 256)
        return x, [torch.zeros_like(x) for _ in range(2)]

    @functools.cache
    def step(width: int) -> Callable[[], None]:
        layers = [torch.nn.Linear(width, width) for _ in range(4)]
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        x = torch.randn(32, width)

        def train() -> None:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

        return train

    def run(name: str, size: int, times: int) -> None:
        if name == "DDP step":
            do = step(size)
        else:
            do = functools.partial(CALLS[name], dist, *memory(size))
        for _ in range(times):
            do()

    return run


def workload(name: str, size: int, times: int, shown: str) -> Workload:
    setup = "from bench.distributed import pair\nrun = pair(torch)"
    return Workload(shown, f"run({name!r}, {size}, {times})", setup, waits=True)


def workloads() -> list[Workload]:
    found = []
    for name in ("all_reduce", "broadcast", "all_gather", "send and recv"):
        for size in KILOBYTES if name == "all_reduce" else (1, 1024, 16384):
            times = max(1, min(100, 4096 // size))
            found.append(workload(name, size, times, f"{times} times {name}, {size} kB"))
    found.append(workload("barrier", 1, 100, "100 times barrier"))
    for width in (64, 256, 1024):
        found.append(workload("DDP step", width, 5, f"5 times DDP step, 4 layers of {width}"))
    return found


WORKLOADS = workloads()

if __name__ == "__main__":
    part = joined(importlib.import_module(sys.argv[1]), int(sys.argv[2]), 1)
    for line in sys.stdin:
        name, size, times = line.strip().split("|")
        part(name, int(size), int(times))
