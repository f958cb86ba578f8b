"""Passes over a DataLoader's batches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...core.values import shown_in, warn
from ._utils.fetch import _DatasetKind
from ._utils.pin_memory import pin_memory
from .datapipes.datapipe import IterDataPipe
from .graph_settings import seed_pipes
from .sampler import drawn_seed

if TYPE_CHECKING:
    from .dataloader import DataLoader


@shown_in("torch.utils.data.dataloader")
class _BaseDataLoaderIter:
    """One pass over a DataLoader's batches."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._collate_fn = loader.collate_fn
        self._drop_last = loader.drop_last
        self._num_workers = loader.num_workers
        self._persistent_workers = loader.persistent_workers
        self._timeout = loader.timeout
        self._world_size, self._rank = _get_distributed_settings()
        self._index_sampler = loader._index_sampler
        self._shared_seed = self._draw_shared_seed(loader)
        self._base_seed = drawn_seed(loader.generator)
        self._pin_memory = loader.pin_memory and _can_pin()
        self._pin_memory_device = loader.pin_memory_device
        self._begin(loader)

    @staticmethod
    def _draw_shared_seed(loader: DataLoader[Any]) -> int | None:
        """For the pipes of the dataset, the same in all workers."""
        return drawn_seed(loader.generator) if isinstance(loader.dataset, IterDataPipe) else None

    def _begin(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """Begin a pass with the workers there are."""
        self._begin(loader)
        self._shared_seed = self._draw_shared_seed(loader)

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        length = self._IterableDataset_len_called
        if length is not None and self._num_yielded > length:
            self._warn_of_length(length)
        return pin_memory(data) if self._pin_memory else data

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _warn_of_length(self, length: int) -> None:
        replicas = (
            "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset "
            "replica at each worker. Please see "
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
        )
        warn(
            f"Length of IterableDataset {self._dataset} was reported to be {length}(when accessing "
            f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
            + (replicas if self._num_workers else ""),
        )

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def _get_distributed_settings() -> tuple[int, int]:
    """How many processes work together, and which this one is."""
    group: Any = sys.modules.get(f"{__package__.partition('.')[0]}.distributed")
    if group is None or not group.is_available() or not group.is_initialized():
        return 1, 0
    return group.get_world_size(), group.get_rank()


def _can_pin() -> bool:
    from ...cuda import is_available

    if not is_available():
        warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."
        )
        return False
    return True


@shown_in("torch.utils.data.dataloader")
class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        seed_pipes(loader.dataset, self._shared_seed)
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())
