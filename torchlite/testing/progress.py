"""How far a command has come, told to the person who waits for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, TypeVar

T = TypeVar("T")
_WIDTH = 20


def progress(items: Iterable[T], total: int | None = None, name: Callable[[T], Any] = lambda item: "") -> Iterator[T]:
    """The items, with a bar on stderr while they are taken, where that is a terminal.

    `total` is how many there are, of items without a length; `name` says which one is at work.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    of = len(items) if total is None else total  # type: ignore[arg-type]
    began = time.monotonic()
    with ExitStack() as stack:
        stack.callback(print, "\r\x1b[K", end="", file=sys.stderr, flush=True)
        for done, item in enumerate(items):
            _draw(done, of, time.monotonic() - began, str(name(item)))
            yield item


def _draw(done: int, of: int, seconds: float, name: str) -> None:
    bar = "#" * min(_WIDTH, _WIDTH * done // max(of, 1))
    left = f", {seconds / done * (of - done):.0f} s left" if 0 < done <= of else ""
    print(f"\r\x1b[K[{bar:<{_WIDTH}}] {done}/{of}{left} {name:.50}", end="", file=sys.stderr, flush=True)
