"""Fetching samples from a dataset, and making a batch of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....backends.base import get_backend
from ....core.machine import Tensor, wrap
from ....core.state import local
from ....core.values import shown_in
from ..dataset import Subset, TensorDataset, samples
from .collate import collate_tensor_fn, default_collate, default_collate_fn_map


class _BaseDatasetFetcher:
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Of the index it is only asked how long it is."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.dataset_iter = iter(self.dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        wanted = len(possibly_batched_index)
        data = list(itertools.islice(self.dataset_iter, wanted))
        self.ended = len(data) < wanted
        if not data or (self.ended and self.drop_last):
            raise StopIteration
        return self.collate_fn(data)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, possibly_batched_index: Any) -> Any:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        if self.collate_fn is default_collate and default_collate_fn_map.get(Tensor) is collate_tensor_fn:
            batch = _gathered(self.dataset, possibly_batched_index)
            if batch is not None:
                return batch
        return self.collate_fn(samples(self.dataset, possibly_batched_index))


def _gathered(dataset: Any, indices: list[Any]) -> list[Tensor] | None:
    """The batch of samples that are rows of tensors, without making each; None where it is not so simple."""
    while type(dataset) is Subset:
        dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
    if type(dataset) is not TensorDataset or set(map(type, indices)) != {int} or not local.state.mode.plain:
        return None
    host, tensors = get_backend(), dataset.tensors
    if not all([t._backend is host and type(t) is Tensor and t.is_contiguous() for t in tensors]):
        return None
    if any([t.requires_grad for t in tensors]):
        return None
    n = len(dataset)
    if min(indices) < -n or max(indices) >= n:
        return None
    rows = np.array(indices)
    return [wrap(t._array.take(rows, 0), t.dtype, host) for t in tensors]


@shown_in("torch.utils.data.dataloader")
class _DatasetKind:
    """How samples are got from a dataset."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        """What fetches samples of a data set of this kind."""
        fetcher = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)
