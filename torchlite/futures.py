"""`torch.futures`: results that are yet to come."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import GenericAlias
from typing import Any

from .core.values import shown_in

__all__ = ["Future", "collect_all", "wait_all"]


@shown_in("torch.futures")
class Future:
    """A result that is yet to come, or the exception that came in its place."""

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self, *, devices: Any = None) -> None:
        self._changed = threading.Condition()
        self._result: tuple[Any, BaseException | None] | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def done(self) -> bool:
        """Whether it has come."""
        return self._result is not None

    def wait(self) -> Any:
        """The result, when it has come."""
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self) -> Any:
        """The result, which must have come."""
        if self._result is None:
            raise RuntimeError("Future is not complete")
        value, error = self._result
        if error is not None:
            raise error
        return value

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._changed:
            if self._result is not None:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._result = value, error
            self._changed.notify_all()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def set_result(self, result: Any) -> None:
        """Let the result have come."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Let an exception have come."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def add_done_callback(self, callback: Callable[[Future], None]) -> None:
        """Call `callback(future)` when it has come."""
        with self._changed:
            if self._result is None:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of what `callback(future)` gives when this has come."""
        made = Future()

        def follow(future: Future) -> None:
            try:
                result = callback(future)
            except Exception as error:
                made.set_exception(error)
            else:
                made.set_result(result)

        self.add_done_callback(follow)
        return made


def collect_all(futures: list[Future]) -> Future:
    """The future of the list, when all of them have come."""
    made, left, lock = Future(), len(futures), threading.Lock()

    def count(_: Future) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            made.set_result(list(futures))

    if not futures:
        made.set_result([])
    for future in futures:
        future.add_done_callback(count)
    return made


def wait_all(futures: list[Future]) -> list[Any]:
    """The results of all, when they have come."""
    return [future.wait() for future in futures]
