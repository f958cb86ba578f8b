"""Fisher and Yates' shuffle, without a loop over its swaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arithmetic import long_words

if TYPE_CHECKING:
    from collections.abc import Callable

_LONG = 2**32 // 20  # from here on PyTorch goes through the places the other way and with 64 bits a step
_FEW = 1000  # up to here a loop is faster
_BLOCK = 8000  # of very many steps so many are done at once, in little memory


def permutation(n: int, words: Callable[[int], np.ndarray]) -> np.ndarray:
    """0 ... n - 1 shuffled with as many words as it takes: step i swaps place i with one of i ... n - 1."""
    if n >= _LONG:
        return _permutation_from_the_end(n, words)
    draws = words(max(n - 1, 0))
    order = np.arange(n)
    done = 0
    if n > 4 * _BLOCK:
        marks = np.empty(n, np.int16)
        while n - done > 2 * _BLOCK:
            places = order[done:]
            _swap_block(places, _targets(draws[done : done + _BLOCK], places.size, _BLOCK), marks[done:])
            done += _BLOCK
    places = order[done:]
    places[:] = places.take(_swapped(_targets(draws[done:], places.size, places.size)))
    return order


def _targets(draws: np.ndarray, places: int, steps: int) -> np.ndarray:
    """With what each of the first steps of a shuffle swaps its place. The last place of all is left without a draw."""
    targets = np.arange(steps, dtype=np.uint32)
    targets[: draws.size] += draws % np.arange(places, places - draws.size, -1, dtype=np.uint32)
    return targets.astype(np.int64)


def _permutation_from_the_end(n: int, words: Callable[[int], np.ndarray]) -> np.ndarray:
    """A shuffle in which step i swaps place i with one of 0 ... i."""
    targets = (long_words(words(2 * n)) % np.arange(1, n + 1, dtype=np.uint64)).view(np.int64)
    # Seen backwards these are steps like those above, and they are undone in reverse order.
    backwards = _swapped(n - 1 - targets[::-1])
    order = np.empty(n, np.int64)
    order[n - 1 - backwards] = np.arange(n)[::-1]
    return order


def _swap_block(places: np.ndarray, targets: np.ndarray, marks: np.ndarray) -> None:
    """Swap place i with place targets[i] >= i, for each step i in turn. The marks are scratch memory."""
    size = targets.size
    found = places[:size].copy()  # what each step finds in its own place, ...
    taken = places.take(targets)  # ... and in the other, unless an earlier step has been there
    # The last step before with the same target. (Of values assigned to one place at once the last one stays.)
    steps = np.arange(size, dtype=marks.dtype)
    marks[targets] = steps
    late = marks.take(targets)
    early = np.flatnonzero(late != steps)
    late = late.take(early).astype(np.int64)
    before = np.full(size, -1)
    second = []
    while early.size:
        before[late] = early
        second.append(late)
        late = before.take(late)
        rest = np.flatnonzero(late != early)
        early, late = early.take(rest), late.take(rest)
    # The last step before that left something in a step's own place; then where that came from in the end.
    inside = np.flatnonzero(targets < size)
    place = targets.take(inside)
    origin = np.arange(size)
    origin[place] = inside
    own = inside[inside == place]
    origin[own] = np.where(before[own] < 0, own, before[own])
    source = origin.take(place)
    while (source != (further := origin.take(source))).any():
        origin[place] = source = further
    found[place] = found.take(source)
    if second:
        again = np.concatenate(second)
        taken[again] = found.take(before.take(again))
    places[targets] = found
    places[:size] = taken


def _swapped(targets: np.ndarray) -> np.ndarray:
    """0 ... n - 1 after swapping place i with place targets[i] >= i, for each step i in turn."""
    n = targets.size
    if n < _FEW:
        order = list(range(n))
        for i, j in enumerate(targets.tolist()):
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64)
    # All steps at once. Step i moves to place i what its target holds by then: what the last earlier step with the same
    # target left there, and that is what this one found in its own place. What a step finds in its own place was left
    # there in the same way by the last step with that target. Below, a number k < n stands for what step k found in its
    # own place, and n + j for j itself. (Of values assigned to one place at once the last one stays.)
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
