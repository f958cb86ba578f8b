"""How two libraries are compared: first whether they compute the same, then how long they take, side by side.

Each workload runs in many short rounds, the libraries taking turns and each going first in every other round. On one
thread CPU time is counted, so that other processes on the machine hardly matter. Of several, those of the library
that ran last are given time to fall asleep, so that they keep no core busy that the other's want. The times shown are
the fastest round's. The ratio is the median of the rounds' ratios, the library's time over the other's: a slow moment
of the machine falls on both halves of a round and cancels.
"""

from __future__ import annotations

import math
import statistics
import time
import timeit
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

DOZE = 0.005  # seconds, after which threads that wait for more work have gone to sleep
PRELUDE = "nn, F = torch.nn, torch.nn.functional\ntorch.manual_seed(0)\n"


@dataclass(frozen=True)
class Workload:
    """A statement to time, after `setup`; `torch` is whichever library runs it."""

    name: str
    statement: str
    setup: str = ""
    far: float = 1e-4  # how far results may be apart, of the largest number in them; infinity where they say nothing
    waits: bool = False  # for others than itself: then the clock on the wall counts


@dataclass(frozen=True)
class Row:
    """One workload's figures: microseconds a run in each library, and how they compare."""

    group: str
    name: str
    microseconds: float
    against: float
    ratio: float


def workloads(setup: str, statements: dict[str, str], far: float = 1e-4) -> list[Workload]:
    return [Workload(name, statement, setup, far) for name, statement in statements.items()]


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


# ---- the same results


def numbers_in(found: Any) -> Iterator[np.ndarray]:
    """The arrays and numbers in what a statement gave."""
    if isinstance(found, (list, tuple)):
        for item in found:
            yield from numbers_in(item)
    elif isinstance(found, (bool, int, float)):
        yield np.asarray(found)
    elif hasattr(found, "detach"):
        halves = found.is_floating_point() and found.element_size() == 2
        yield (found.float() if halves else found).detach().numpy()


def results(workload: Workload, library: ModuleType) -> list[np.ndarray]:
    """What the statement gives, and the gradients that it leaves."""
    names: dict[str, Any] = {"torch": library}
    exec(PRELUDE + workload.setup, names)
    found = [eval(workload.statement, names)]
    leaves = [value for value in names.values() if isinstance(value, library.Tensor) and value.is_leaf]
    return list(numbers_in(found + [leaf.grad for leaf in leaves]))


def same_results(workload: Workload, libraries: tuple[ModuleType, ModuleType]) -> bool:
    if workload.far == math.inf:
        return True
    mine, theirs = (results(workload, library) for library in libraries)

    def close(one: np.ndarray, other: np.ndarray) -> bool:
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        finite = np.abs(other[np.isfinite(other)])
        return np.allclose(one, other, 0, workload.far * float(finite.max(initial=1)), equal_nan=True)

    return len(mine) == len(theirs) and all(map(close, mine, theirs))


# ---- the times


def measure(
    group: str, workload: Workload, libraries: tuple[ModuleType, ModuleType], seconds: float, threads: int
) -> Row:
    """Time a workload for about so many seconds, the library first, what it is compared with second."""
    clock = time.process_time if threads == 1 and not workload.waits else time.perf_counter
    timers = [
        timeit.Timer(workload.statement, PRELUDE + workload.setup, clock, globals={"torch": library})
        for library in libraries
    ]
    runs = []
    for timer in timers:
        timer.timeit(1)
        once = timer.timeit(1)
        runs.append(max(1, round(0.004 / (timer.timeit(20) / 20 if once < 0.01 else once))))
    times: list[tuple[float, float]] = []
    begun = time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - begun < seconds and len(times) < 300):
        pair = [0.0, 0.0]
        for which in (0, 1) if len(times) % 2 else (1, 0):
            if threads > 1:
                time.sleep(DOZE)
                timers[which].timeit(1)
            pair[which] = timers[which].timeit(runs[which]) / runs[which] * 1e6
        times.append((pair[0], pair[1]))
    mine, theirs = (min(column) for column in zip(*times))
    return Row(group, workload.name, mine, theirs, statistics.median(mine / theirs for mine, theirs in times))
