"""FullyShardedDataParallel: each process keeps a part of the parameters, of their gradients and of Adam's state.

    torchrun --nproc-per-node 2 examples/distributed/sharded_model.py
"""

from __future__ import annotations

import functools

import torch
import torch.distributed as dist
import torch.nn as nn
from ranks import say, start
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

STEPS, BATCH, WIDTH = 6, 8, 32


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(12, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU(), nn.Linear(WIDTH, 3)
    )


def main() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=500)
    model = FSDP(make_model(), auto_wrap_policy=policy, device_id=torch.device("cpu"))
    whole = sum(p.numel() for p in make_model().parameters())
    mine = sum(p.numel() for p in model.parameters())
    say(f"rank {rank} keeps {mine} of {whole} parameters")

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(rank)
    for step in range(STEPS):
        inputs = torch.randn(BATCH, 12, generator=generator)
        targets = inputs.unflatten(1, (3, 4)).sum(2)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        norm = model.clip_grad_norm_(1.0)
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"step {step}  loss {mean.item() / size:.5f}  norm of the gradient {norm.item():.5f}")

    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)):
        state = model.state_dict()
    say(f"rank {rank} has {len(state)} whole tensors")
    if rank == 0:
        alone = make_model()
        alone.load_state_dict(state)
        for name, tensor in alone.state_dict().items():
            print(f"{name:10} {list(tensor.shape)!s:10} {tensor.double().norm().item():.5f}")


if __name__ == "__main__":
    start(main)
