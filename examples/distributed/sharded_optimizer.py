"""ZeroRedundancyOptimizer: DDP's gradients, but each process keeps Adam's state for a part of the parameters only.

    torchrun --nproc-per-node 2 examples/distributed/sharded_optimizer.py
"""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn as nn
from ranks import say, start
from torch.distributed.optim import ZeroRedundancyOptimizer

STEPS, BATCH = 5, 8


def make_replica() -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(16, 16), nn.Tanh())], nn.Linear(16, 1))
    return nn.parallel.DistributedDataParallel(model)


def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[float]:
    generator = torch.Generator().manual_seed(100 + dist.get_rank())
    losses = []
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, 16, generator=generator)
        optimizer.zero_grad()
        loss = (model(inputs).squeeze(1) - inputs.sin().sum(1)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def kept(optimizer: torch.optim.Optimizer) -> int:
    """How many numbers an optimizer keeps in this process."""
    return sum(t.numel() for state in optimizer.state.values() for t in state.values() if t.dim())


def main() -> None:
    rank = dist.get_rank()
    whole, shared = make_replica(), make_replica()
    plain = torch.optim.Adam(whole.parameters(), lr=0.01)
    zero = ZeroRedundancyOptimizer(shared.parameters(), torch.optim.Adam, lr=0.01)
    first, second = train(whole, plain), train(shared, zero)
    apart = max((a - b).abs().max().item() for a, b in zip(whole.parameters(), shared.parameters(), strict=True))
    say(f"rank {rank}  losses {' '.join(f'{loss:.5f}' for loss in second)}  like Adam: {first == second, apart < 1e-7}")
    say(f"rank {rank}  keeps {kept(zero.optim)} numbers where Adam keeps {kept(plain)}")
    zero.consolidate_state_dict(to=0)
    if rank == 0:
        state = zero.state_dict()["state"]
        print(f"together: {len(state)} parameters, {sum(s['exp_avg'].numel() for s in state.values())} means")


if __name__ == "__main__":
    start(main)
