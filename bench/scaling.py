"""The latency and bandwidth of collectives, and how a training step scales: what docs/scale.md reckons with.

    torchrun --standalone --nproc-per-node 4 -m bench.scaling
    python -m torch.distributed.run --standalone --nproc-per-node 4 -m bench.scaling      PyTorch, with gloo

A step is measured with a batch for each process (weak scaling), and with one that they share (strong scaling).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import torch.distributed as dist

SIZES = (1, 16, 256, 4096, 65536)
WIDTH, BATCH = 512, 128


def timed(do: Callable[[], object], times: int) -> float:
    dist.barrier()
    begun = time.perf_counter()
    for _ in range(times):
        do()
    return (time.perf_counter() - begun) / times


def seconds(do: Callable[[], object], rounds: int = 7) -> float:
    """How long something takes: the fastest of some rounds, as the slowest process sees them."""
    timed(do, 1)
    times = torch.tensor(max(1, min(200, round(0.02 / timed(do, 3)))))
    dist.broadcast(times, 0)
    best = torch.tensor(min(timed(do, int(times)) for _ in range(rounds)), dtype=torch.float64)
    dist.all_reduce(best, dist.ReduceOp.MAX)
    return best.item()


def step(batch: int) -> Callable[[], None]:
    model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(4)])
    replica = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(replica.parameters(), 0.01)
    x = torch.randn(batch, WIDTH)

    def train() -> None:
        optimizer.zero_grad()
        replica(x).square().mean().backward()
        optimizer.step()

    return train


def main() -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, size = dist.get_rank(), dist.get_world_size()
    lines = [f"{torch.__version__}, {size} processes"]
    for kilobytes in SIZES:
        x = torch.zeros(kilobytes * 256)
        taken = seconds(lambda x=x: dist.all_reduce(x))
        lines.append(f"all_reduce of {kilobytes:6} kB {taken * 1e6:10.0f} µs {kilobytes * 1.024e-6 / taken:8.2f} GB/s")
    for name, batch in (("each", BATCH), ("all together", BATCH // size)):
        lines.append(f"a step with {BATCH} samples for {name:<12} {seconds(step(batch)) * 1e3:8.2f} ms")
    if rank == 0:
        print("\n".join(lines), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
