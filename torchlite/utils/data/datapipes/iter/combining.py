"""One pipe as several: `fork` and `demux`."""

from __future__ import annotations

import copy as _copy
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .....core.values import warn
from .._decorator import functional_datapipe
from .._hook_iterator import _FEEDBACK, described
from ..datapipe import IterDataPipe
from .functions import checked_function

__all__ = ["DemultiplexerIterDataPipe", "ForkerIterDataPipe"]


class _Split(IterDataPipe[Any]):
    """A pipe whose samples several children take, each in its own time; what waits for the others is buffered.

    They share passes: one ends for all when a child that had begun it begins anew.
    """

    function = ""
    _space = " "

    def __init__(self, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        if buffer_size < 0:
            warn(f"Unlimited buffer size is set for `{self.function}`, please be aware of OOM at random places")
        self._forget()

    def _forget(self) -> None:
        self._pass = 0
        self._source: Iterator[Any] | None = None
        self._waiting: list[deque[Any]] = [deque() for _ in range(self.num_instances)]
        self._joined: list[int] = [0] * self.num_instances  # the pass that each child is in
        self._ended = False  # there is no more to read

    def __getstate__(self) -> Any:
        running = ("_pass", "_source", "_waiting", "_joined", "_ended")
        return {name: value for name, value in super().__getstate__().items() if name not in running}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def join(self, child: int) -> int:
        """Let a child begin: in the pass of the others, or if it was in that already, in a new one."""
        if self._joined[child] == self._pass:
            if self._pass and not (self._ended and not any(self._waiting)):
                warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting the buffer and "
                    "each child DataPipe will read from the start again.",
                )
            number = self._pass + 1
            joined = self._joined
            self._forget()
            self._pass, self._joined = number, joined
            self._source = iter(self.main_datapipe)
        self._joined[child] = self._pass
        return self._pass

    def samples(self, child: int, number: int) -> Iterator[Any]:
        """Those of a child, as long as the pass with this number goes on."""
        waiting = self._waiting[child]
        while True:
            if number != self._pass:
                raise RuntimeError(
                    "This iterator has been invalidated, because a new iterator has been created from one of the "
                    f"ChildDataPipes of {described(self)}." + _FEEDBACK
                )
            if not waiting and not self._fill(child):
                return
            yield waiting.popleft()

    def _fill(self, child: int) -> bool:
        """Read on until there is something for a child."""
        assert self._source is not None
        for sample in self._source:
            self._give(sample)
            if self.buffer_size >= 0 and self._beside(child) > self.buffer_size:
                raise BufferError(
                    f"{type(self).__name__[1:]} buffer overflow,{self._space}buffer size {self.buffer_size} is "
                    "insufficient."
                )
            if self._waiting[child]:
                return True
        self._ended = True
        return False

    def _give(self, sample: Any) -> None:
        raise NotImplementedError

    def _beside(self, child: int) -> int:
        """How much of the buffer is taken by what others have not read."""
        raise NotImplementedError


class _ForkerIterDataPipe(_Split):
    function, _space = "fork", ""

    def __init__(
        self, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        copies: dict[Any, Callable[[Any], Any]] = {None: _itself, "shallow": _copy.copy, "deep": _copy.deepcopy}
        if copy not in copies:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        self.copy_fn = copies[copy]

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def _give(self, sample: Any) -> None:
        for waiting in self._waiting:
            waiting.append(self.copy_fn(sample))

    def _beside(self, child: int) -> int:
        return max([len(waiting) for waiting in self._waiting])


class _DemultiplexerIterDataPipe(_Split):
    function = "demux"

    def __init__(
        self, datapipe: IterDataPipe[Any], num_instances: int, classifier_fn: Callable[[Any], int | None],
        drop_none: bool, buffer_size: int,
    ) -> None:  # fmt: skip
        super().__init__(datapipe, num_instances, buffer_size)
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none

    def __len__(self) -> int:
        raise TypeError

    def _give(self, sample: Any) -> None:
        number = self.classifier_fn(sample)
        if number is None and self.drop_none:
            return
        if number is None or not 0 <= number < self.num_instances:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.num_instances - 1}. {number} is "
                "returned."
            )
        self._waiting[number].append(sample)

    def _beside(self, child: int) -> int:
        return sum([len(waiting) for waiting in self._waiting]) - len(self._waiting[child])


def _itself(sample: Any) -> Any:
    return sample


class _ChildDataPipe(IterDataPipe[Any], hooks=False):
    """One of those that a pipe was split into."""

    def __init__(self, main_datapipe: _Split, instance_id: int) -> None:
        self.main_datapipe = main_datapipe
        self.instance_id = instance_id

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.samples(self.instance_id, self.main_datapipe.join(self.instance_id))


def _children(main: _Split) -> list[_ChildDataPipe]:
    return [_ChildDataPipe(main, i) for i in range(main.num_instances)]


def _check(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """So many pipes, each with all samples."""

    def __new__(
        cls, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> Any:
        _check(num_instances)
        if num_instances == 1:
            return datapipe
        return _children(_ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy))


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """So many pipes, each with the samples to which a function gives its number; None drops one, if so said."""

    def __new__(
        cls, datapipe: IterDataPipe[Any], num_instances: int, classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False, buffer_size: int = 1000,
    ) -> Any:  # fmt: skip
        _check(num_instances)
        checked_function(classifier_fn)
        return _children(_DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size))
