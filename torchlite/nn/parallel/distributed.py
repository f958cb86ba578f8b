"""One model in several processes, which torchlite does not offer."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Needs a process group, and so `torch.distributed`, which torchlite has not: it always refuses."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group. "
            "(torchlite has no torch.distributed; in a single process, use the module itself.)"
        )


DistributedDataParallel.__module__ = "torch.nn.parallel.distributed"
