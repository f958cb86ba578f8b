"""Scaled losses, where gradients are shared out among processes."""

from __future__ import annotations

from typing import Any

from ...amp.grad_scaler import GradScaler
from ...core.machine import Tensor
from ..collectives import all_reduce
from ..process_group import Group

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A `GradScaler` by which all processes of a group skip a step where one has found a gradient that is not finite.

    For optimizers whose gradients are shared out, as `FullyShardedDataParallel`'s are.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, backoff_factor: float = 0.5,
        growth_factor: float = 2.0, growth_interval: int = 2000, enabled: bool = True, process_group: Group = None,
    ) -> None:  # fmt: skip
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = process_group

    def _unscaled(self, optimizer: Any, divide: bool) -> dict[Any, Tensor]:
        found = super()._unscaled(optimizer, divide)
        for bad in found.values():
            all_reduce(bad, group=self.process_group)
        return found
