"""Who a worker is."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from ....core.values import shown_in


@shown_in("torch.utils.data._utils.worker")
@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker: its number among how many, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


def get_worker_info() -> WorkerInfo | None:
    """About the worker that this process is: its `id`, `num_workers`, `seed`, and its copy of the `dataset`."""
    worker: Any = sys.modules.get(f"{__package__}.worker")  # whose attribute loops of other packages set
    return None if worker is None else worker._worker_info
