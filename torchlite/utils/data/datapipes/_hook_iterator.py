"""What every pass over a pipe does besides: there is one at a time, it counts its samples, and errors say where."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["_SnapshotState", "hooked"]

_FEEDBACK = (
    "\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on this issue: "
    "https://github.com/pytorch/data/issues/45."
)


class _SnapshotState(enum.Enum):
    """Whether a pipe is being gone through, or was brought forward to where it had been."""

    NotStarted = 0
    Restored = 1
    Iterating = 2


def described(datapipe: Any) -> str:
    """A pipe with the arguments that it keeps, pipes among them by their names."""
    kept = sorted(set(inspect.signature(type(datapipe)).parameters) & set(datapipe.__dict__))
    shown = []
    for name in kept:
        value = datapipe.__dict__[name]
        shown.append(f"{name}={getattr(value, '__name__', None) or repr(value)}")
    return f"{type(datapipe).__name__}({', '.join(shown)})"


def begin(datapipe: Any) -> int:
    """The number of the pass that begins."""
    datapipe._valid_iterator_id += 1
    datapipe._number_of_samples_yielded = 0
    if hasattr(type(datapipe), "reset"):
        datapipe.reset()
    datapipe._snapshot_state = _SnapshotState.Iterating
    return datapipe._valid_iterator_id


def samples(datapipe: Any, source: Iterator[Any], number: int) -> Iterator[Any]:
    """What comes from `source`, as long as no other pass over the pipe begins."""
    while True:
        try:
            sample = next(source)
        except StopIteration:
            return
        except Exception as error:
            where = f"This exception is thrown by __iter__ of {described(datapipe)}"
            first = error.args[0] if error.args and isinstance(error.args[0], str) else ""
            if "thrown by __iter__ of" not in first:
                error.args = (f"{first}\n{where}", *error.args[1:])
            raise
        datapipe._number_of_samples_yielded += 1
        yield sample
        if number != datapipe._valid_iterator_id:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from the same "
                f"IterDataPipe: {described(datapipe)}\nThis may be caused by multiple references to the same "
                "IterDataPipe. We recommend using `.fork()` if that is necessary." + _FEEDBACK
            )


def hooked(method: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """The `__iter__` of a class of pipes, with all this around it. That of a generator begins with its first sample."""

    @functools.wraps(method)
    def at_once(self: Any) -> Iterator[Any]:
        begun, self._fast_forward_iterator = self._fast_forward_iterator, None
        if begun is not None:
            self._snapshot_state = _SnapshotState.Iterating
            return begun
        number = begin(self)
        return samples(self, method(self), number)

    @functools.wraps(method)
    def lazily(self: Any) -> Iterator[Any]:
        yield from at_once(self)

    return lazily if inspect.isgeneratorfunction(method) else at_once
