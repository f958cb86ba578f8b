"""`torch.distributed.optim`: optimizers of several processes."""

from ...absent import placeholders
from ...faces import later
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

_ABSENT = "DistributedOptimizer _apply_optimizer_in_backward as_functional_optim"
globals().update(placeholders("torch.distributed.optim", _ABSENT))
__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "as_functional_optim"]

__getattr__ = later(__name__)
