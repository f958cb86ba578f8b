"""Pipes from which samples come one after the other."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

from .....core.values import bear_name, warn
from ..._utils.collate import default_collate
from ...sampler import Sampler as _Sampler
from ...sampler import SequentialSampler
from .._decorator import functional_datapipe
from .._shuffling import Shuffling
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import validate_input_col
from .combining import DemultiplexerIterDataPipe as Demultiplexer
from .combining import ForkerIterDataPipe as Forker
from .files import FileListerIterDataPipe as FileLister
from .files import FileOpenerIterDataPipe as FileOpener
from .files import RoutedDecoderIterDataPipe as RoutedDecoder
from .files import StreamReaderIterDataPipe as StreamReader
from .functions import checked_function
from .grouping import GrouperIterDataPipe as Grouper
from .sharding import ShardingFilterIterDataPipe as ShardingFilter
from .wrapping import IterableWrapper

__all__ = [
    "Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener", "Filter", "Forker", "Grouper",
    "IterableWrapper", "Mapper", "Multiplexer", "RoutedDecoder", "Sampler", "ShardingFilter", "Shuffler",
    "StreamReader", "UnBatcher", "Zipper",
]  # fmt: skip


class _Through(IterDataPipe[Any]):
    """A pipe with one source."""

    def __init__(self, datapipe: IterDataPipe[Any]) -> None:
        self.datapipe = datapipe


class _AsMany(_Through):
    """A pipe with as many samples as its source, unless it says otherwise."""

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("map")
class Mapper(_AsMany):
    """What a function makes of each sample, or of some of its columns.

    The result takes the place of the first of these, or of `output_col`; -1 appends it.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], fn: Callable[..., Any], input_col: Any = None, output_col: Any = None
    ) -> None:
        super().__init__(datapipe)
        self.fn = checked_function(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        validate_input_col(fn, input_col)
        self.input_col = input_col
        self.output_col = output_col

    def _apply(self, sample: Any) -> Any:
        columns, to = self.input_col, self.output_col
        if columns is None:
            return self.fn(sample)
        several = isinstance(columns, (list, tuple))
        result = self.fn(*[sample[column] for column in columns]) if several else self.fn(sample[columns])
        as_tuple = isinstance(sample, tuple)
        made = list(sample) if as_tuple else copy.copy(sample)
        if to == -1:
            made.append(result)
        elif to is not None:
            made[to] = result
        elif several:
            made[columns[0]] = result
            for column in sorted(columns[1:], reverse=True):
                del made[column]
        else:
            made[columns] = result
        return tuple(made) if as_tuple else made

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            yield self._apply(sample)


@functional_datapipe("collate")
class Collator(Mapper):
    """Samples, or batches of them, as a collate function makes them."""

    def __init__(
        self, datapipe: IterDataPipe[Any], conversion: Callable[..., Any] | None = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        conversion = collate_fn or conversion
        if not callable(conversion):
            raise NotImplementedError("torchlite collates pipes by a function, not by a table of columns")
        super().__init__(datapipe, conversion)


@functional_datapipe("filter")
class Filter(_Through):
    """The samples for which a function gives True."""

    def __init__(self, datapipe: IterDataPipe[Any], filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        super().__init__(datapipe)
        self.filter_fn = checked_function(filter_fn)
        validate_input_col(filter_fn, input_col)
        self.input_col = input_col

    def __iter__(self) -> Iterator[Any]:
        column = self.input_col
        for sample in self.datapipe:
            if isinstance(column, (list, tuple)):
                keep = self.filter_fn(*[sample[c] for c in column])
            else:
                keep = self.filter_fn(sample if column is None else sample[column])
            if not isinstance(keep, bool):
                raise ValueError(
                    f"Boolean output is required for `filter_fn` of {type(self).__name__}, got", type(keep)
                )
            if keep:
                yield sample


@functional_datapipe("batch")
class Batcher(_AsMany):
    """Samples in chunks of equal length, of which the last may be shorter or is left out."""

    def __init__(
        self, datapipe: IterDataPipe[Any], batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__(datapipe)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator[Any]:
        samples = iter(self.datapipe)
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self) -> int:
        n = super().__len__()
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcher(_Through):
    """The samples in chunks, of so many levels; of all, if `unbatch_level` is -1."""

    def __init__(self, datapipe: IterDataPipe[Any], unbatch_level: int = 1) -> None:
        super().__init__(datapipe)
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for chunk in self.datapipe:
            yield from self._parts(chunk, self.unbatch_level)

    def _parts(self, chunk: Any, level: int) -> Iterator[Any]:
        chunked = isinstance(chunk, (list, DataChunk))
        if level == 0 or (level == -1 and not chunked):
            yield chunk
        elif not chunked:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        else:
            for part in chunk:
                yield from self._parts(part, level if level == -1 else level - 1)


class _Several(IterDataPipe[Any]):
    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        self.datapipes = datapipes


@functional_datapipe("concat")
class Concater(_Several):
    """Pipes one behind the other."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all([isinstance(pipe, IterDataPipe) for pipe in datapipes]):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        super().__init__(*datapipes)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datapipes)

    def __len__(self) -> int:
        return sum([len(pipe) for pipe in self.datapipes])


@functional_datapipe("zip")
class Zipper(_Several):
    """Tuples of one sample of each pipe, until one has no more."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not all([isinstance(pipe, IterDataPipe) for pipe in datapipes]):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        super().__init__(*datapipes)

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.datapipes)

    def __len__(self) -> int:
        return min([len(pipe) for pipe in self.datapipes])


@functional_datapipe("mux")
class Multiplexer(_Several):
    """A sample of each pipe in turn, until one has no more."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(zip(*self.datapipes))

    def __len__(self) -> int:
        return min([len(pipe) for pipe in self.datapipes]) * len(self.datapipes)


@functional_datapipe("shuffle")
class Shuffler(Shuffling, _AsMany):
    """Samples in random order, as far as a buffer of them allows."""

    def __init__(self, datapipe: IterDataPipe[Any], *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        _AsMany.__init__(self, datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level))
        self.buffer_size = buffer_size
        Shuffling.__init__(self)

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        rng = self._random()
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
            else:
                at = rng.randint(0, len(buffer) - 1)
                yield buffer[at]
                buffer[at] = sample
        while buffer:
            yield buffer.pop(rng.randint(0, len(buffer) - 1))


class Sampler(_AsMany):
    """What a sampler yields of a pipe."""

    def __init__(
        self, datapipe: IterDataPipe[Any], sampler: type[_Sampler[Any]] = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None, sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(datapipe)
        self.sampler = sampler(*(sampler_args or ()), **{"data_source": datapipe, **(sampler_kwargs or {})})

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)  # type: ignore[arg-type]


for _name in __all__:
    _class = globals()[_name]
    _class.__name__ = _class.__qualname__ = f"{_name}IterDataPipe"
    bear_name(_class, "torch.utils.data.datapipes.iter")
    globals()[_class.__name__] = _class  # by which pickles find it
