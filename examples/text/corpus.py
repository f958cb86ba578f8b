"""A little text to learn from: sentences of a small world, made at random by a few rules."""

from __future__ import annotations

import random
from typing import Any

WHO = ["the cat", "the old dog", "a small bird", "my sister", "the fisherman", "our neighbour"]
DOES = ["sees", "follows", "finds", "likes", "forgets"]
WHAT = ["the moon", "a red boat", "an empty house", "the long road", "a warm stone"]
WHERE = ["by the river", "in the garden", "behind the hill"]
WHEN = ["in the morning", "at night", "every day", "after the rain"]


def sentences(count: int, seed: int = 0) -> list[str]:
    """Sentences in lower case, without punctuation."""
    choose = random.Random(seed)
    found = []
    for _ in range(count):
        parts = [choose.choice(WHO), choose.choice(DOES), choose.choice(WHAT)]
        if choose.random() < 0.5:
            parts.append(choose.choice(WHERE))
        if choose.random() < 0.5:
            parts.append(choose.choice(WHEN))
        found.append(" ".join(parts))
    return found


class Vocabulary:
    """Numbers for tokens, in alphabetical order, and back."""

    def __init__(self, tokens: Any) -> None:
        self.tokens = sorted(set(tokens))
        self.numbers = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, tokens: Any) -> list[int]:
        return [self.numbers[token] for token in tokens]

    def decode(self, numbers: list[int]) -> list[str]:
        return [self.tokens[number] for number in numbers]


def words(count: int, seed: int = 0) -> list[str]:
    """The words of so many sentences, each ended by a full stop."""
    return [word for sentence in sentences(count, seed) for word in [*sentence.split(), "."]]
