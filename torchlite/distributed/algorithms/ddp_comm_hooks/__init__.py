"""`torch.distributed.algorithms.ddp_comm_hooks`: how DistributedDataParallel's gradients travel."""

from __future__ import annotations

from enum import Enum, member
from functools import partial
from typing import Any

from . import debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook, quantization_hooks

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]

debugging, default, powerSGD, quantization = debugging_hooks, default_hooks, powerSGD_hook, quantization_hooks


def _plain(model: Any, state: Any, hook: Any) -> None:
    model.register_comm_hook(state, hook)


def _power_sgd(model: Any, state: Any, hook: Any, rank: int) -> None:
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=rank), hook)


class DDPCommHookType(Enum):
    """The hooks that can be registered by name."""

    ALLREDUCE = member(partial(_plain, hook=default_hooks.allreduce_hook))
    FP16_COMPRESS = member(partial(_plain, hook=default_hooks.fp16_compress_hook))
    BF16_COMPRESS = member(partial(_plain, hook=default_hooks.bf16_compress_hook))
    POWER_SGD = member(partial(_power_sgd, hook=powerSGD_hook.powerSGD_hook, rank=1))
    POWER_SGD_RANK2 = member(partial(_power_sgd, hook=powerSGD_hook.powerSGD_hook, rank=2))
    BATCHED_POWER_SGD = member(partial(_power_sgd, hook=powerSGD_hook.batched_powerSGD_hook, rank=1))
    BATCHED_POWER_SGD_RANK2 = member(partial(_power_sgd, hook=powerSGD_hook.batched_powerSGD_hook, rank=2))


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register a hook by its name; `state` is the process group, or what the hook keeps."""
    comm_hook_type.value(model=model, state=state)
