"""Pipes from which samples are got by index."""

from __future__ import annotations

import bisect
import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ....core.values import bear_name, warn
from ._decorator import functional_datapipe
from ._shuffling import Shuffling
from .datapipe import DataChunk, IterDataPipe, MapDataPipe
from .iter.functions import checked_function

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe[Any]):
    """The items of a sequence or a mapping, or of a copy of it."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warn(
                    "The input sequence can not be deepcopied, please be aware of in-place modification would affect "
                    "source data",
                )

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(MapDataPipe[Any]):
    """What a function makes of each sample."""

    def __init__(self, datapipe: MapDataPipe[Any], fn: Callable[[Any], Any] = lambda sample: sample) -> None:
        self.datapipe = datapipe
        self.fn = checked_function(fn)

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class Batcher(MapDataPipe[Any]):
    """Samples in chunks of equal length, of which the last may be shorter or is left out."""

    def __init__(
        self, datapipe: MapDataPipe[Any], batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        first = index * self.batch_size
        last = min(first + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(first, last)])

    def __len__(self) -> int:
        n = len(self.datapipe)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class _Several(MapDataPipe[Any]):
    def __init__(self, *datapipes: MapDataPipe[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all([isinstance(pipe, MapDataPipe) for pipe in datapipes]):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        self.datapipes = datapipes

    def _lengths(self) -> list[int]:
        return [len(pipe) for pipe in self.datapipes]


@functional_datapipe("concat")
class Concater(_Several):
    """Pipes one behind the other."""

    def __getitem__(self, index: int) -> Any:
        ends = list(itertools.accumulate(self._lengths()))
        which = bisect.bisect_right(ends, index)
        if which == len(ends):
            raise IndexError(f"Index {index} is out of range.")
        return self.datapipes[which][index - (ends[which - 1] if which else 0)]

    def __len__(self) -> int:
        return sum(self._lengths())


@functional_datapipe("zip")
class Zipper(_Several):
    """Tuples of the samples of each pipe."""

    def __getitem__(self, index: int) -> Any:
        samples = []
        for pipe in self.datapipes:
            try:
                samples.append(pipe[index])
            except IndexError as error:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {pipe}.") from error
        return tuple(samples)

    def __len__(self) -> int:
        return min(self._lengths())


class Shuffler(Shuffling, IterDataPipe[Any]):
    """All samples in random order, or those of given indices."""

    def __init__(self, datapipe: MapDataPipe[Any], *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        super().__init__()

    def __iter__(self) -> Iterator[Any]:
        order = self.indices
        if self._enabled:
            order = self._random().sample(order, len(order))[::-1]
        self._seed = None
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)

for _name in __all__:
    _class = globals()[_name]
    _class.__name__ = _class.__qualname__ = f"{_name}{'Iter' if _class is Shuffler else 'Map'}DataPipe"
    bear_name(_class, "torch.utils.data.datapipes.map")
    globals()[_class.__name__] = _class  # by which pickles find it
