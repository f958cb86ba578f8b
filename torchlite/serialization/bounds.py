"""What reading a file may cost: one account, into which every opcode, call, key and record pays.

A file justifies memory and time by its size. What asks for more, or nests keys too deep to be hashed, is refused before
it is made.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

_FREE = 16 << 20  # that any file may cost
_PER_BYTE = 64  # of a pickle: what the objects that it describes may cost
_PER_STORED_BYTE = 32  # of a file: how many bytes of values may be made of it
_DEEPEST_KEY = 100  # of tuples in tuples that are to be keys: hashing them recurses

_ENTRY = 128  # bytes that a key takes in a table
_STEP = 32  # of looking at an item: as long as it takes to make so many bytes
_TEXTS = frozenset((str, bytes, bool, type(None)))  # of which nobody can choose the hash
_OWN_HASH = (1 << 61) - 1  # below it, integers are their own hashes


class Bounds:
    """The account of one file of `size` bytes. Costs are in bytes of memory; what takes time is put in them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.claimed = 0
        self.made = 0
        self.paid = 0
        self.justified = _FREE
        self.hashes: Counter[tuple[int, int]] = Counter()  # how many keys of a table have one, where a file can choose
        self._read: Callable[[], int] = lambda: 0

    def read_by(self, tell: Callable[[], int]) -> None:
        """Say how much of the file's pickles has been read."""
        self._read = tell

    def pay(self, cost: int) -> None:
        """Pay for objects that a pickle makes, or for looking at what it made."""
        self.paid += cost
        if self.paid > self.justified:
            self.justified = _FREE + _PER_BYTE * min(self._read(), self.size)
            if self.paid > self.justified:
                raise pickle.UnpicklingError("the pickle makes more than its size justifies")

    def claim(self, nbytes: int, what: str) -> None:
        """Claim part of the file. No two records or storages share bytes, so all together are no longer than it."""
        self.claimed += nbytes
        if self.claimed > self.size:
            raise RuntimeError(f"the {what} of the file are said to be longer ({self.claimed} bytes) than the file")

    def make(self, nbytes: int) -> None:
        """Pay for values that are not in the file as they are: inflated, moved or expanded."""
        self.made += nbytes
        if self.made > _FREE + _PER_STORED_BYTE * self.size:
            raise RuntimeError(f"a file of {self.size} bytes would become {self.made}, which is more than it justifies")

    def enter(self, keys: Iterable[Any], table: Any) -> None:
        """Pay for putting keys in a table, where those of one hash are compared with one another."""
        for key in keys:
            self.pay(_ENTRY)
            if key.__class__ in _TEXTS or (key.__class__ is int and -_OWN_HASH < key < _OWN_HASH):
                continue
            steps = self._steps(key) if isinstance(key, tuple) else 1
            place = id(table), hash(key)
            self.hashes[place] += 1
            self.pay(_ENTRY + _STEP * steps * (self.hashes[place] - 1))

    def _steps(self, key: tuple[Any, ...]) -> int:
        """How many items are looked at when a tuple is hashed; one that is in it twice counts twice."""
        steps = 1
        open_tuples = [iter((key,))]
        while open_tuples:
            for item in open_tuples[-1]:
                if isinstance(item, tuple):
                    if len(open_tuples) > _DEEPEST_KEY:
                        raise pickle.UnpicklingError("a key of tuples in tuples in tuples is too deep")
                    steps += len(item)
                    self.pay(_STEP * len(item))
                    open_tuples.append(iter(item))
                    break
            else:
                open_tuples.pop()
        return steps
