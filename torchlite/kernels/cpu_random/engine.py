"""The Mersenne Twister: 32-bit words in PyTorch's order, and its state in PyTorch's layout.

NumPy generates the words, whole states (624 words) at a time and, while draws are small, a few states ahead. Those
words are kept in `_block` with the place of the next one, so a small draw is a slice of them.
"""

from __future__ import annotations

import contextvars
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from operator import length_hint
from typing import Self

import numpy as np

from .arithmetic import long_words, unit_doubles, unit_floats
from .normals import normals_of_polar, polar

DEFAULT_SEED = 67280421310721
STATE_WORDS = 624  # words between two regenerations of the state
STATE_BYTES = 5056

_STATE = np.dtype({
    "names": ["seed", "left", "seeded", "next", "words", "normal", "has_normal"],
    "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", STATE_WORDS), "<f8", "<i4"],
    "offsets": [0, 8, 12, 16, 24, 5024, 5040],
    "itemsize": STATE_BYTES,
})  # fmt: skip
_32 = np.array(32, np.uint64)
_NO_WORDS = np.empty(0, np.uint32)
_FAR_AHEAD = 16 * STATE_WORDS  # so many words are generated ahead of small draws, once there were a few of them
FEW_WORDS = 4 * STATE_WORDS  # up to so many, normals are made from `_polar`


class MT19937Engine:
    """A stream of words and its state. The methods with an underscore expect `_lock` to be held."""

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._lock = threading.RLock()
        # float32 numbers that are made of all words at hand, each at the place of its word: uniform ones, and normal
        # ones in blocks of 16, by what remains of the places where blocks begin.
        self._uniforms: dict[int, np.ndarray] = {}
        self._normals_of: dict[int, np.ndarray] = {}
        # To make one changes NumPy's handling of errors for a while; a kernel that draws first may be running.
        self._generator = contextvars.copy_context().run(np.random.MT19937, 0)
        self._bulk = np.random.RandomState(self._generator)
        self.seed(seed)

    # Seed and state

    @property
    def initial_seed(self) -> int:
        return self._seed

    def seed(self, seed: int) -> None:
        """Start anew. All 64 bits of the seed are remembered; the low 32 decide what is drawn."""
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        with self._lock:
            self._seed = seed % 2**64
            self._bulk.seed(self._seed & 0xFFFFFFFF)
            self._normal: float | None = None  # the second of a pair of normals, kept for the next draw
            self._forget_block(untouched=True)

    def get_state(self) -> np.ndarray:
        """The state as PyTorch's 5056 bytes."""
        state = np.zeros(1, _STATE)
        with self._lock:
            state["seed"] = self._seed
            state["seeded"] = 1
            place = 0 if self._untouched else (self._next - 1) % STATE_WORDS + 1
            state["next"] = place
            state["left"] = 1 if self._untouched else STATE_WORDS + 1 - place
            state["words"] = self._key()
            state["has_normal"] = self._normal is not None
            state["normal"] = self._normal or 0
        return state.view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        """Continue from what `get_state` gave."""
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if not state.flags.c_contiguous:
            raise RuntimeError("RNG state must be contiguous")
        if state.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be "
                f"{state.size}"
            )
        fields = np.frombuffer(state.tobytes(), _STATE)[0]
        left, place = int(fields["left"]), int(fields["next"])
        if not fields["seeded"] or not 1 <= left <= STATE_WORDS or place > STATE_WORDS:
            raise RuntimeError("Invalid mt19937 state")
        with self._lock:
            self._seed = int(fields["seed"])
            self._normal = float(fields["normal"]) if fields["has_normal"] else None
            pos = STATE_WORDS if left == 1 else 0
            key = fields["words"].astype(np.uint32)
            self._generator.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": pos}}
            self._forget_block(untouched=place == 0)
            if left > 1:
                self._next_block(STATE_WORDS)
                self._next = place

    def clone(self) -> Self:
        """An independent stream that goes on as this one does."""
        twin = type(self)()
        twin.set_state(self.get_state())
        return twin

    # Words

    def words32(self, n: int) -> np.ndarray:
        """The next n words, as uint32."""
        with self._lock:
            return self._words(n).copy()

    def words64(self, n: int) -> np.ndarray:
        """The next n pairs of words, as uint64 with the first word high."""
        with self._lock:
            return long_words(self._words(2 * n))

    def _words(self, n: int) -> np.ndarray:
        """The next n words; not to be written to."""
        start = self._next
        end = start + n
        if end <= self._block.size:
            self._next = end
            return self._block[start:end]
        rest = self._block[start:]
        missing = n - rest.size
        whole = missing // STATE_WORDS * STATE_WORDS if missing > _FAR_AHEAD else 0
        parts = [rest]
        if whole:
            parts.append(self._raw_words(whole))
            self._forget_block(untouched=False)
        if missing > whole:
            self._next_block(missing - whole)
            self._next = missing - whole
            parts.append(self._block[: self._next])
        parts = [part for part in parts if part.size]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _at_hand(self) -> int:
        """How many words there are before more must be generated."""
        return self._block.size - self._next

    def _doubles(self, n: int) -> np.ndarray:
        """The next n uniform float64 numbers in [0, 1): one pair of words each."""
        return unit_doubles(self._words(2 * n))

    def _raw_words(self, n: int) -> np.ndarray:
        """An even number of words, generated two at a time with the first one high."""
        pairs = self._bulk.randint(0, 2**64, n // 2, dtype=np.uint64)
        if sys.byteorder == "little":
            first = pairs >> _32
            pairs <<= _32
            pairs |= first
        return pairs.view(np.uint32)

    def _forget_block(self, *, untouched: bool) -> None:
        """There are no words at hand; `untouched` when none were drawn since seeding."""
        self._forget_numbers()
        self._block = _NO_WORDS
        self._phase = -1  # where in blocks of 16 words the last few normals began
        self._next = 0
        self._untouched = untouched
        self._ahead = STATE_WORDS

    def _forget_numbers(self) -> None:
        self._polar_block: np.ndarray | None = None
        self._uniforms.clear()
        self._normals_of.clear()

    def _next_block(self, n: int) -> None:
        """At least n words, and more the more often they are wanted."""
        self._block = self._generator.random_raw(max(self._ahead, -(-n // STATE_WORDS) * STATE_WORDS)).astype(np.uint32)
        self._forget_numbers()
        self._next = 0
        self._untouched = False
        self._ahead = min(2 * self._ahead, _FAR_AHEAD)

    def _key(self) -> np.ndarray:
        """The state that the last word drawn belongs to."""
        start = (self._next - 1) // STATE_WORDS * STATE_WORDS
        if start < 0:
            return self._generator.state["state"]["key"]
        return _untempered(self._block[start : start + STATE_WORDS])

    def _polar(self, n: int) -> np.ndarray:
        """`polar` of the next n words (few of them), which costs less by the block than by the draw."""
        if not self._at_hand():
            self._next_block(n)
        start, block = self._next, self._whole_polar()
        self._words(n)
        if start + n <= block.shape[1]:
            return block[:, start : start + n]
        return np.concatenate([block[:, start:], self._whole_polar()[:, : self._next]], axis=1)

    def _whole_polar(self) -> np.ndarray:
        if self._polar_block is None:
            self._polar_block = polar(self._block)
        return self._polar_block

    def _ready_normals(self, n: int) -> np.ndarray | None:
        """The normals of the next n words, whole blocks of 16, where these words are at hand; not to be written to.

        All that are at hand are made the second time that blocks begin at the same phase.
        """
        start, size = self._next, self._block.size
        phase = start % 16
        if start + n > size or (phase != self._phase and phase not in self._normals_of):
            self._phase = phase
            return None
        if phase not in self._normals_of:
            normals = self._normals_of[phase] = np.empty(size, np.float32)
            blocks = slice(phase, size - (size - phase) % 16)
            normals_of_polar(self._whole_polar()[:, blocks], normals[blocks])
            normals[blocks] += 0  # a zero has no sign
        self._next = start + n
        return self._normals_of[phase][start : start + n]

    def _ready_uniforms(self, n: int) -> np.ndarray:
        """The next n uniform float32 numbers in [0, 1): one word each. Of words at hand, all are made at once."""
        start = self._next
        end = start + n
        if end > self._block.size:
            return unit_floats(self._words(n))
        if not self._uniforms:
            self._uniforms[0] = unit_floats(self._block)
        self._next = end
        return self._uniforms[0][start:end].copy()

    def again(self, law: str, shape: tuple[int, ...], draw: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
        """What `draw` does, which draws few standard float32 numbers of a law, faster where they are made already."""
        n = math.prod(shape)
        if n > FEW_WORDS or (law == "normal" and (n % 16 or not n)):
            return draw
        words, made = (16, self._normals_of) if law == "normal" else (1, self._uniforms)

        def copied() -> np.ndarray:
            with self._lock:
                start = self._next
                end = start + n
                numbers = made.get(start % words)
                if numbers is not None and end <= numbers.size:
                    self._next = end
                    return numbers[start:end].reshape(shape).copy()
            return draw()

        return copied

    # One number after another, for laws that cannot say beforehand how many they need

    @contextmanager
    def _one_by_one(self) -> Iterator[tuple[Callable[[], float], Callable[[], float]]]:
        """Two functions: one gives the next uniform double, the other the next standard normal."""
        batch = iter(())

        def batches() -> Iterator[Iterator[float]]:
            nonlocal batch
            while True:
                batch = iter(self._doubles(max(1, min(self._at_hand(), STATE_WORDS) // 2)).tolist())
                yield batch

        uniform = chain.from_iterable(batches()).__next__

        def normal() -> float:
            value, self._normal = self._normal, None
            if value is None:
                value, self._normal = normal_pair(uniform(), uniform())
            return value

        try:
            yield uniform, normal
        finally:
            self._next -= 2 * length_hint(batch)


def _untempered(words: np.ndarray) -> np.ndarray:
    """The numbers of the state that words were made of, by the inverses of the four steps that made them."""
    y = words ^ (words >> 18)
    y ^= (y << 15) & 0xEFC60000
    state = y
    for _ in range(4):
        state = y ^ ((state << 7) & 0x9D2C5680)
    return state ^ (state >> 11) ^ (state >> 22)


def normal_pair(u1: float, u2: float) -> tuple[float, float]:
    """Two independent standard normals from two uniforms."""
    radius = math.sqrt(-2 * math.log1p(-u2))
    angle = 2 * math.pi * u1
    return radius * math.cos(angle), radius * math.sin(angle)
