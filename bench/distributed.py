"""Collectives and a training step of two and of four processes on this host, by the clock on the wall.

The other processes of each library are told by a line on their standard input what to take part in, and how often.
Small collectives are made many at a time, so that this line hardly counts.
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
    "send and recv": lambda dist, x, _: sent_on(dist, x),
    "barrier": lambda dist, x, _: dist.barrier(),
}  # fmt: skip


def sent_on(dist: Any, x: Any) -> None:
    """From the first to the last, from hand to hand."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    if rank:
        dist.recv(x, rank - 1)
    if rank < last:
        dist.send(x, rank + 1)


class Team:
    """This process and others, in which the same library runs."""

    def __init__(self, torch: ModuleType, size: int) -> None:
        with socket.create_server(("localhost", 0)) as server:
            port = server.getsockname()[1]
        command = [sys.executable, "-m", "bench.distributed", torch.__name__, str(port), str(size)]
        self.others = [
            subprocess.Popen([*command, str(rank)], stdin=subprocess.PIPE, text=True) for rank in range(1, size)
        ]
        self.run = joined(torch, port, size, 0)

    def __call__(self, name: str, kilobytes: int, times: int) -> None:
        for other in self.others:
            assert other.stdin is not None
            other.stdin.write(f"{name}|{kilobytes}|{times}\n")
            other.stdin.flush()
        self.run(name, kilobytes, times)

    def end(self) -> None:
        for other in self.others:
            other.communicate()


@functools.cache
def team(torch: ModuleType, size: int) -> Team:
    """Those of a library, who take the place of those of another size."""
    for before in _teams.pop(torch.__name__, ()):
        before.end()
        importlib.import_module(f"{torch.__name__}.distributed").destroy_process_group()
    made = Team(torch, size)
    _teams[torch.__name__] = [made]
    return made


_teams: dict[str, list[Team]] = {}


def joined(torch: Any, port: int, size: int, rank: int) -> Callable[[str, int, int], None]:
    """Become one of several, and say how to take part in something."""
    dist: Any = importlib.import_module(f"{torch.__name__}.distributed")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://localhost:{port}", rank=rank, world_size=size)

    @functools.cache
    def memory(kilobytes: int) -> tuple[Any, list[Any]]:
        x = torch.zeros(kilobytes * 256)
        return x, [torch.zeros_like(x) for _ in range(size)]

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

    def run(name: str, much: int, times: int) -> None:
        do = step(much) if name == "DDP step" else functools.partial(CALLS[name], dist, *memory(much))
        for _ in range(times):
            do()

    return run


def workload(processes: int, name: str, size: int, times: int, shown: str) -> Workload:
    setup = f"from bench.distributed import team\nrun = team(torch, {processes})"
    shown = f"{processes} processes: {times} times {name}{shown}"
    return Workload(shown, f"run({name!r}, {size}, {times})", setup, waits=True)


def workloads(processes: int) -> list[Workload]:
    found = []
    for name in ("all_reduce", "broadcast", "all_gather", "send and recv"):
        for size in KILOBYTES if name == "all_reduce" else (1, 1024, 16384):
            found.append(workload(processes, name, size, max(1, min(100, 4096 // size)), f", {size} kB"))
    found.append(workload(processes, "barrier", 1, 100, ""))
    for width in (64, 256, 1024):
        found.append(workload(processes, "DDP step", width, 5, f", 4 layers of {width}"))
    return found


WORKLOADS = workloads(2) + workloads(4)

if __name__ == "__main__":
    part = joined(importlib.import_module(sys.argv[1]), *map(int, sys.argv[2:]))
    for line in sys.stdin:
        name, size, times = line.strip().split("|")
        part(name, int(size), int(times))
