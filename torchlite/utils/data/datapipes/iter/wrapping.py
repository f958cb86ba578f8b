"""Pipes over what is there already."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sized
from typing import Any

from .....core.values import warn
from ..datapipe import IterDataPipe


class IterableWrapper(IterDataPipe[Any]):
    """The items of an iterable, of which each pass takes a copy where it can be copied."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warn(
                    "The input iterable can not be deepcopied, please be aware of in-place modification would affect "
                    "source data.",
                )
        yield from source

    def __len__(self) -> int:
        if not isinstance(self.iterable, Sized):
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return len(self.iterable)
