"""A sampler for training in several processes, each on a share of the samples."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ...core.machine import Generator
from ...core.values import shown_in
from ...operations.making.draws import randperm
from .dataset import Dataset
from .sampler import Sampler

__all__ = ["DistributedSampler"]


@shown_in("torch.utils.data.distributed")
class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th sample, in an order that changes with `set_epoch`.

    All shares are equally long: some samples are repeated or, with `drop_last`, left out.
    """

    def __init__(
        self, dataset: Dataset[Any], num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        if num_replicas is None:
            num_replicas = _process_group().get_world_size()
        if rank is None:
            rank = _process_group().get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        n = len(dataset)  # type: ignore[arg-type]
        self.num_samples = n // num_replicas if drop_last else -(-n // num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)  # type: ignore[arg-type]
        if self.shuffle:
            indices = randperm(n, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        else:
            indices = list(range(n))
        if n < self.total_size:
            indices = (indices * -(-self.total_size // n))[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next epoch, the same in all processes."""
        self.epoch = epoch


def _process_group() -> Any:
    """`torch.distributed`, once it has been initialized."""
    distributed = sys.modules.get("torchlite.distributed")
    if distributed is None or not distributed.is_initialized():
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return distributed
