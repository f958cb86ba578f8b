"""Names that a program gives to what its processes do together, for profilers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class _Given(threading.local):
    name: str | None = None


_given = _Given()


@contextlib.contextmanager
def record_comm(name: str) -> Iterator[None]:
    """What is begun in here is shown by this name, besides its own, while a profiler looks on."""
    before, _given.name = _given.name, name
    try:
        yield
    finally:
        _given.name = before


def names_of(own: str) -> list[str]:
    """By what something is shown that is begun now."""
    return [own] if _given.name is None else [_given.name, own]
