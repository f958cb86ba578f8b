"""`torch.distributed.optim`: optimizers of several processes."""

from __future__ import annotations

from ...absent import placeholder
from ...faces import later
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

_ABSENT = "DistributedOptimizer PostLocalSGDOptimizer _apply_optimizer_in_backward as_functional_optim"
globals().update({name: placeholder("torch.distributed.optim", name) for name in _ABSENT.split()})
__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "as_functional_optim"]

__getattr__ = later(__name__)
