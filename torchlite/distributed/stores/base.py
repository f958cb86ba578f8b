"""What every store offers; one in this process's memory; and one that is a part of another."""

from __future__ import annotations

import functools
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ...core.values import bear_name
from ..errors import DistStoreError, QueueEmptyError
from .arguments import checked

_NUMBER = re.compile(rb"\s*[+-]?\d+")


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
        number = _NUMBER.match(self.values.get(key, b"0"))
        if number is None:
            raise ValueError("stoll")
        total = int(number[0]) + amount
        self.values[key] = str(total).encode()
        return total

    def append(self, key: str, value: bytes) -> None:
        self.values[key] = self.values.get(key, b"") + value

    def enlist(self, key: str, value: bytes) -> None:
        """Put a value under the next of the keys `key/1`, `key/2`, …"""
        self.set(f"{key}/{self.add(key, 1)}", value)

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
        raise RuntimeError(f'Tried to call pure virtual function "::c10d::Store::{question}"')

    def _await(self, keys: Sequence[str], seconds: float) -> bool:
        """Wait until all keys are there; whether they came in time."""
        raise RuntimeError('Tried to call pure virtual function "::c10d::Store::wait"')

    def _late(self, keys: Sequence[str], seconds: float) -> RuntimeError:
        """What is said of keys that did not come in time."""
        return DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {', '.join('/' + k for k in keys)}")

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle 'torch._C._distributed_c10d.{type(self).__name__}' object")

    @property
    def timeout(self) -> timedelta:
        """How long to wait for keys."""
        return self._timeout

    @checked
    def set_timeout(self, timeout: timedelta, /) -> None:
        """Wait so long for keys from now on."""
        self._timeout = timeout

    @checked
    def set(self, key: str, value: str | bytes, /) -> None:
        """Put a value under a key, in place of what was there."""
        self._ask("set", _text(key), _bytes(value))

    @checked
    def get(self, key: str, /) -> bytes:
        """The value under a key, when it has come."""
        self.wait([key])
        return self._ask("peek", _text(key))

    @checked
    def add(self, key: str, amount: int, /) -> int:
        """Add to the number under a key, 0 at first, and say what it comes to."""
        return self._ask("add", _text(key), int(amount))

    @checked
    def append(self, key: str, value: str | bytes, /) -> None:
        """Put a value behind what is under a key."""
        self._ask("append", _text(key), _bytes(value))

    @checked
    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes, /) -> bytes:
        """Put a value under a key if the one there is as expected (none, if nothing is); say which one is there."""
        return self._ask("compare_set", _text(key), _bytes(expected_value), _bytes(desired_value))

    @checked
    def wait(self, keys: Sequence[str], timeout: timedelta | None = None, /) -> None:
        """Wait until all keys are there; DistStoreError if that takes too long."""
        seconds = (timeout or self.timeout).total_seconds()
        if not self._await(names := list(map(_text, keys)), seconds):
            raise self._late(names, seconds)

    @checked
    def check(self, keys: Sequence[str], /) -> bool:
        """Whether all keys are there."""
        return self._ask("check", list(map(_text, keys)))

    @checked
    def delete_key(self, key: str, /) -> bool:
        """Take a key away, and say whether it was there."""
        return self._ask("delete_key", _text(key))

    @checked
    def num_keys(self) -> int:
        """How many keys there are."""
        return self._ask("num_keys")

    @checked
    def list_keys(self) -> list[str]:
        """All keys."""
        return self._ask("list_keys")

    @checked
    def multi_get(self, keys: Sequence[str], /) -> list[bytes]:
        """The values under several keys, when all have come."""
        self.wait(keys)
        return [self.get(key) for key in keys]

    @checked
    def multi_set(self, keys: Sequence[str], values: Sequence[str], /) -> None:
        """Put values under several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    @checked
    def queue_push(self, key: str, value: str | bytes, /) -> None:
        """Put a value into a queue."""
        self._ask("queue_push", _text(key), _bytes(value))

    @checked
    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value from a queue, waiting for one unless told not to."""
        deadline = time.monotonic() + (limit := self.timeout.total_seconds())
        while (value := self._ask("queue_take", _text(key))) is None:
            if not block:
                raise QueueEmptyError("queue is empty")
            if not self._await([_text(key)], max(0.0, deadline - time.monotonic())):
                raise self._late([_text(key)], limit)
        return value

    @checked
    def queue_len(self, key: str, /) -> int:
        """How many values are in a queue."""
        return self._ask("queue_len", _text(key))

    @checked
    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until so many processes have called this."""
        if self.add(f"{key}/num_members", 1) == world_size:
            self.set(f"{key}/last_member", b"1")
        self.wait([f"{key}/last_member"], timeout or self.timeout)

    @checked
    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`."""
        return True

    @checked
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

    def _late(self, keys: Sequence[str], seconds: float) -> RuntimeError:
        return DistStoreError("Wait timeout")


class PrefixStore(Store):
    """The part of a store in which all keys begin with a prefix and a slash."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self.underlying_store = prefix, store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self.underlying_store
        return store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store

    @property
    def timeout(self) -> timedelta:
        """How long to wait for keys."""
        return self.underlying_store.timeout

    @checked
    def clone(self) -> PrefixStore:
        """The same part, for use by another thread."""
        return PrefixStore(self._prefix, self.underlying_store.clone())

    @checked
    def list_keys(self) -> list[str]:
        """The keys of this part, as they are called in it."""
        front = f"{self._prefix}/"
        return [key.removeprefix(front) for key in self.underlying_store.list_keys() if key.startswith(front)]

    def _under(self, key: Any) -> Any:
        """A key, or several, as the store itself calls them."""
        return f"{self._prefix}/{_text(key)}" if isinstance(key, (str, bytes)) else [self._under(each) for each in key]


def _handed_on(name: str, of_keys: bool = True) -> Callable[..., Any]:
    """A method that the store itself answers, of keys that begin with the prefix."""
    method = getattr(Store, name)

    @checked
    @functools.wraps(method)
    def ask(self: PrefixStore, *asked: Any) -> Any:
        if of_keys:
            asked = self._under(asked[0]), *asked[1:]
        return getattr(self.underlying_store, name)(*asked)

    return ask


for _name in (
    "set", "get", "add", "append", "wait", "check", "compare_set", "delete_key", "multi_get", "multi_set",
    "queue_push", "queue_pop", "queue_len",
):  # fmt: skip
    setattr(PrefixStore, _name, _handed_on(_name))
for _name in ("set_timeout", "num_keys", "has_extended_api"):
    setattr(PrefixStore, _name, _handed_on(_name, of_keys=False))
for _store in (Store, HashStore, PrefixStore):
    bear_name(_store, "torch.distributed")


def _text(key: str | bytes) -> str:
    return key if isinstance(key, str) else bytes(key).decode()


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
