"""`torch.distributed.tensor.parallel`: modules whose parameters are shared out over a mesh."""

from ....absent import lacking
from . import api, loss, style
from .api import parallelize_module
from .loss import loss_parallel
from .style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = [*style.__all__, *api.__all__, *loss.__all__]
__getattr__ = lacking(__name__)
