"""`torch.distributed.tensor.parallel`: modules whose parameters are shared out over a mesh."""

from __future__ import annotations

from ....absent import lacking, placeholder
from . import api, style
from .api import parallelize_module
from .style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = [*style.__all__, *api.__all__]
loss_parallel = placeholder("torch.distributed.tensor.parallel", "loss_parallel")
__getattr__ = lacking(__name__)
