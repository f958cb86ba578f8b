"""Fisher and Yates' shuffle, without a loop over its swaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .arithmetic import long_words
from .interchange import interchanger

_LONG = 2**32 // 20  # from here on PyTorch goes through the places the other way and with 64 bits a step
_FEW = 100  # up to here a loop is faster


def permutation(n: int, words: Callable[[int], np.ndarray]) -> np.ndarray:
    """0 ... n - 1 shuffled with as many words as it takes: step i swaps place i with one of i ... n - 1."""
    if n >= _LONG:
        return _permutation_from_the_end(n, words)
    draws = words(max(n - 1, 0))
    return _swapped_few(draws, n) if n < _FEW else _swapped(_targets(draws, n))


def _swapped_few(draws: np.ndarray, n: int) -> np.ndarray:
    order = list(range(n))
    for i, draw in enumerate(draws.tolist()):
        j = i + draw % (n - i)
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def _targets(draws: np.ndarray, n: int) -> np.ndarray:
    """With what each step of a shuffle of n places swaps its place. The last place is left without a draw."""
    targets = np.arange(n)
    targets[:-1] += draws % np.arange(n, 1, -1, dtype=np.uint32)
    return targets


def _permutation_from_the_end(n: int, words: Callable[[int], np.ndarray]) -> np.ndarray:
    """A shuffle in which step i swaps place i with one of 0 ... i."""
    targets = (long_words(words(2 * n)) % np.arange(1, n + 1, dtype=np.uint64)).view(np.int64)
    # Seen backwards these are steps like those above, and they are undone in reverse order.
    backwards = _swapped(n - 1 - targets[::-1])
    order = np.empty(n, np.int64)
    order[n - 1 - backwards] = np.arange(n)[::-1]
    return order


def _swapped(targets: np.ndarray) -> np.ndarray:
    """0 ... n - 1 after swapping place i with place targets[i] >= i, for each step i in turn."""
    if interchange := interchanger():
        order = np.arange(targets.size)
        interchange(order, targets)
        return order
    return _swapped_at_once(targets)


def _swapped_at_once(targets: np.ndarray) -> np.ndarray:
    """The same, without a loop over the steps."""
    # Step i moves to place i what its target holds by then: what the last earlier step with the same target left there,
    # and that is what this one found in its own place. What a step finds in its own place was left there in the same
    # way by the last step with that target. Below, a number k < n stands for what step k found in its own place, and
    # n + j for j itself. (Of values assigned to one place at once the last one stays.)
    n = targets.size
    steps = np.arange(n)
    found = steps + n
    found[targets] = steps
    order = targets + n
    step = found.take(targets)  # the last step with the same target, then the one before that, ...
    pending = np.flatnonzero(step != steps)  # ... until it is this one
    step = step.take(pending)
    while pending.size:
        order[step] = pending
        step = order.take(step)
        rest = np.flatnonzero(step != pending)
        pending, step = pending.take(rest), step.take(rest)
    own = np.flatnonzero(targets == steps)
    found[own] = order[own]
    pending = np.flatnonzero(order < n)
    step = order.take(pending)
    while pending.size:
        step = found.take(step)
        order[pending] = step
        rest = np.flatnonzero(step < n)
        pending, step = pending.take(rest), step.take(rest)
    order -= n
    return order
