"""Who a worker is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....core.values.pickling import bear_name


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker: its number among how many, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


_current: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """About the worker that this process is: its `id`, `num_workers`, `seed`, and its copy of the `dataset`."""
    return _current


def become(worker: WorkerInfo) -> None:
    """Be this worker from now on."""
    global _current
    _current = worker


bear_name(WorkerInfo, "torch.utils.data._utils.worker")
