"""A long run of steps of all kinds ends with no more objects and memory than it began with.

    python -m compat_tests.soak --steps 2000 [--seed 0]

A step is one of the programs that change state (`faults/catalogue.py`), such a program with an exception raised on the
way, or one of a few that train. Objects are counted by type after each tenth part, when those in cycles have been
collected, and compared with the count after the first fifth: a type that has grown in every part leaks.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import sys
import time
import warnings
from collections import Counter
from itertools import pairwise
from random import Random

import torchlite as torch
from torchlite.testing.progress import progress

from .faults import state
from .faults.catalogue import EXPLAINED, PROGRAMS, Scene
from .faults.inject import Injector

PARTS = 10


def train(random: Random) -> None:
    """A few steps of a small network, with data from a loader."""
    model = torch.nn.Sequential(torch.nn.Conv1d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(12, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.rand(12, 1, 8), torch.randint(2, (12,)))
    for x, y in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def with_workers(random: Random) -> None:
    """A pass over data that another process reads, which may be broken off."""
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    for count, _ in enumerate(torch.utils.data.DataLoader(data, batch_size=2, num_workers=1)):
        if count == random.randrange(4):
            break


def resident() -> int:
    """The pages of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def census() -> dict[str, int]:
    """How many objects there are of each type. Such a dict is itself none of those that the collector knows."""
    for _ in range(3):
        gc.collect()
    return dict(Counter(f"{type(o).__module__}.{type(o).__qualname__}" for o in gc.get_objects()))


class Soak:
    """A mix of steps, drawn by chance."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.injector = Injector(seed)
        self.names = [name for name in PROGRAMS if name not in EXPLAINED]

    def step(self) -> None:
        kind = self.random.random()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind < 0.5:
                PROGRAMS[self.random.choice(self.names)](Scene())
            elif kind < 0.8:
                self.injector.one()
            elif kind < 0.98:
                train(self.random)
            else:
                with_workers(self.random)

    def warm(self) -> None:
        """Everything once: what is imported, planned and cached at first is not counted."""
        for name in PROGRAMS:
            for closely in (False, True):
                self.injector.places(name, closely)
        train(self.random)
        with_workers(self.random)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=500, help="how many steps (default: %(default)s)")
    parser.add_argument("--seed", default="0", help="which ones (default: %(default)s)")
    options = parser.parse_args()
    faulthandler.dump_traceback_later(3600, exit=True)
    sys.unraisablehook = lambda lost: None  # an exception inside a finalizer
    soak = Soak(options.seed)
    soak.warm()
    start = time.perf_counter()
    counts, pages = [], []
    for part in progress(range(PARTS)):
        for _ in range(max(1, options.steps // PARTS)):
            soak.step()
        if part >= PARTS // 5:
            counts.append(census())
            pages.append(resident())
    grown = {
        name: [count.get(name, 0) for count in counts]
        for name in counts[-1]
        if all(a.get(name, 0) < b.get(name, 0) for a, b in pairwise(counts))
    }
    for name, course in sorted(grown.items()):
        print(f"{name}: {', '.join(map(str, course))}")
    first, last = (sum(count.values()) for count in (counts[0], counts[-1]))
    mib = [page / 2**20 for page in (pages[0], pages[-1])]
    print(
        f"{options.steps} steps ({time.perf_counter() - start:.0f} s): {first} objects, then {last}; "
        f"{mib[0]:.1f} MiB, then {mib[1]:.1f}; {len(grown)} types grow"
    )
    wrong = state.works()
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return bool(grown or wrong)


if __name__ == "__main__":
    sys.exit(main())
