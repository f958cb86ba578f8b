"""What every store offers; one in this process's memory; and one that is a part of another."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ...core.values.pickling import bear_name
from ..errors import DistStoreError, QueueEmptyError


class Table:
    """Values by their keys, and queues: what a store can be asked for that needs no waiting."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.queues: dict[str, deque[bytes]] = {}

    def set(self, key: str, value: bytes) -> None:
        self.values[key] = value

    def peek(self, key: str) -> bytes | None:
        return self.values.get(key)

    def add(self, key: str, amount: int) -> int:
        total = int(self.values.get(key, b"0")) + amount
        self.values[key] = str(total).encode()
        return total

    def append(self, key: str, value: bytes) -> None:
        self.values[key] = self.values.get(key, b"") + value

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        """A key that is not there is set where nothing is expected of it; else what was expected is the answer."""
        there = self.values.get(key, b"")
        if there == expected:
            self.values[key] = desired
            return desired
        return there or expected

    def delete_key(self, key: str) -> bool:
        return self.values.pop(key, None) is not None

    def check(self, keys: Sequence[str]) -> bool:
        return all(key in self.values or self.queues.get(key) for key in keys)

    def num_keys(self) -> int:
        return len(self.values) + len(self.queues)

    def list_keys(self) -> list[str]:
        return [*self.values, *self.queues]

    def queue_push(self, key: str, value: bytes) -> None:
        self.queues.setdefault(key, deque()).append(value)

    def queue_take(self, key: str) -> bytes | None:
        queue = self.queues.get(key)
        value = queue.popleft() if queue else None
        if queue is not None and not queue:
            del self.queues[key]
        return value

    def queue_len(self, key: str) -> int:
        return len(self.queues.get(key, ()))


class Store:
    """Bytes under keys, which several processes see.

    A store of a program's own overrides `set`, `get`, `add`, … one by one.
    """

    def __init__(self) -> None:
        self._timeout = timedelta(seconds=300)

    def _ask(self, question: str, *args: Any) -> Any:
        """Call a method of the table, wherever it is."""
        raise RuntimeError(f"{type(self).__name__} does not say how to {question}")

    def _await(self, keys: Sequence[str], seconds: float) -> bool:
        """Wait until all keys are there; whether they came in time."""
        return _until(lambda: self._ask("check", list(keys)), seconds)

    @property
    def timeout(self) -> timedelta:
        """How long to wait for keys."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait so long for keys from now on."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Put a value under a key, in place of what was there."""
        self._ask("set", key, _bytes(value))

    def get(self, key: str) -> bytes:
        """The value under a key, when it has come."""
        self.wait([key])
        return self._ask("peek", key)

    def add(self, key: str, amount: int) -> int:
        """Add to the number under a key, 0 at first, and say what it comes to."""
        if not isinstance(amount, int):
            raise TypeError(f"add(): the amount must be an int, not {type(amount).__name__}")
        return self._ask("add", key, amount)

    def append(self, key: str, value: str | bytes) -> None:
        """Put a value behind what is under a key."""
        self._ask("append", key, _bytes(value))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Put a value under a key if the one there is as expected (none, if nothing is); say which one is there."""
        return self._ask("compare_set", key, _bytes(expected_value), _bytes(desired_value))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there; DistStoreError if that takes too long."""
        seconds = (timeout or self.timeout).total_seconds()
        if not self._await(keys, seconds):
            raise DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {', '.join('/' + k for k in keys)}")

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return self._ask("check", list(keys))

    def delete_key(self, key: str) -> bool:
        """Take a key away, and say whether it was there."""
        return self._ask("delete_key", key)

    def num_keys(self) -> int:
        """How many keys there are."""
        return self._ask("num_keys")

    def list_keys(self) -> list[str]:
        """All keys."""
        return self._ask("list_keys")

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values under several keys, when all have come."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Put values under several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value into a queue."""
        self._ask("queue_push", key, _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value from a queue, waiting for one unless told not to."""
        deadline = time.monotonic() + self.timeout.total_seconds()
        while (value := self._ask("queue_take", key)) is None:
            if not block:
                raise QueueEmptyError("queue is empty")
            self.wait([key], timedelta(seconds=max(0.0, deadline - time.monotonic())))
        return value

    def queue_len(self, key: str) -> int:
        """How many values are in a queue."""
        return self._ask("queue_len", key)

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until so many processes have called this."""
        if self.add(f"{key}/arrived", 1) == world_size:
            self.set(f"{key}/all", b"1")
        self.wait([f"{key}/all"], timeout)

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`."""
        return True

    def clone(self) -> Store:
        """The same store, for use by another thread."""
        return self


class HashStore(Store):
    """A store in the memory of this process, for its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()
        self._changed = threading.Condition()

    def _ask(self, question: str, *args: Any) -> Any:
        with self._changed:
            answer = getattr(self._table, question)(*args)
            self._changed.notify_all()
        return answer

    def _await(self, keys: Sequence[str], seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._table.check(keys), seconds)


class PrefixStore(Store):
    """The part of a store in which all keys begin with a prefix and a slash."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix, self.underlying_store = prefix, store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self.underlying_store
        return store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store

    @property
    def timeout(self) -> timedelta:
        """How long to wait for keys."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait so long for keys from now on."""
        self.underlying_store.set_timeout(timeout)

    def clone(self) -> PrefixStore:
        """The same part, for use by another thread."""
        return PrefixStore(self.prefix, self.underlying_store.clone())

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self.underlying_store.wait(self._under(keys), *(() if timeout is None else (timeout,)))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return self.underlying_store.check(self._under(keys))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values under several keys, when all have come."""
        return self.underlying_store.multi_get(self._under(keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Put values under several keys."""
        self.underlying_store.multi_set(self._under(keys), values)

    def num_keys(self) -> int:
        """How many keys there are, with those of the other parts."""
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        """All keys, with those of the other parts, in full."""
        return self.underlying_store.list_keys()

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`."""
        return self.underlying_store.has_extended_api()

    def _under(self, keys: Sequence[str]) -> list[str]:
        return [f"{self.prefix}/{key}" for key in keys]


def _prefixed(name: str) -> Callable[..., Any]:
    def ask(self: PrefixStore, key: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.underlying_store, name)(f"{self.prefix}/{key}", *args, **kwargs)

    ask.__name__, ask.__qualname__ = name, f"PrefixStore.{name}"
    ask.__doc__ = getattr(Store, name).__doc__
    ask.__wrapped__ = getattr(Store, name)  # type: ignore[attr-defined]
    return ask


for _name in ("set", "get", "add", "append", "compare_set", "delete_key", "queue_push", "queue_pop", "queue_len"):
    setattr(PrefixStore, _name, _prefixed(_name))
for _store in (Store, HashStore, PrefixStore):
    bear_name(_store, "torch.distributed")


def _bytes(value: str | bytes) -> bytes:
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"a store holds str and bytes, not {type(value).__name__}")
    return value.encode() if isinstance(value, str) else value


def _until(met: Callable[[], bool], seconds: float) -> bool:
    """Ask again and again, ever more seldom, until something is so; whether it came to be in time."""
    deadline, pause = time.monotonic() + seconds, 0.0005
    while not met():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(2 * pause, 0.02)
    return True
