"""What pipes that shuffle share."""

from __future__ import annotations

import random
from typing import Self

from ..sampler import drawn_seed


class Shuffling:
    """A pipe that can be told whether to shuffle, and in which order."""

    def __init__(self) -> None:
        self._enabled = True
        self._seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Self:
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """Choose the order of the next pass."""
        self._seed = seed
        return self

    def _random(self) -> random.Random:
        """The generator of a pass, which uses up the seed that was set for it."""
        seed, self._seed = self._seed, None
        return random.Random(drawn_seed() if seed is None else seed)
