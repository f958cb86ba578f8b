"""Calling one callable badly in both libraries."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple
from itertools import islice
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import torch

from torchlite.testing.progress import progress

from . import good
from .accepted import reason
from .call import Call
from .callables import names
from .children import Outcome, outcomes
from .compare import Finding, kind_of
from .hostile import bad_calls


def answers(name: str, count: int, seed: object, kept: Path | None = None) -> list[tuple[Call, Outcome]]:
    """Bad calls of a callable, and what comes of each in PyTorch; in the folder `kept` they are for the next time."""
    file = kept and kept / f"{torch.__version__}-{seed}-{count}-{name}.json"
    if file and file.exists():
        rows = json.loads(file.read_text())
        return [(Call(f, tuple(a), tuple(map(tuple, k))), Outcome(*theirs)) for (f, a, k), theirs in rows]
    random = Random(f"{seed}:{name}")
    fixed = int(name.startswith("torch.Tensor."))
    calls = list(islice(bad_calls(good.good_calls(name, random), random, fixed), count))
    pairs = list(zip(calls, outcomes(torch, calls), strict=True))
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([(astuple(call), astuple(theirs)) for call, theirs in pairs]))
    return pairs


def findings(
    module: ModuleType, name: str, count: int, seed: object, kept: Path | None = None
) -> tuple[int, list[Finding]]:
    """How many calls were made of a callable, and those of which the libraries do not do the same."""
    torch.set_num_threads(1)  # children that are forked beside other threads wait for these for ever
    pairs = answers(name, count, seed, kept)
    found = []
    for (call, theirs), mine in zip(pairs, outcomes(module, [call for call, _ in pairs]), strict=True):
        kind = kind_of(theirs, mine)
        if kind is not None and not (kind == "accepted" and reason(name, str(theirs))):
            found.append(Finding(name, call, kind, theirs, mine))
    return len(pairs), found


def hunt(
    module: ModuleType, chosen: Sequence[str], count: int, seed: object, jobs: int = 1, kept: Path | None = None
) -> tuple[int, list[Finding]]:
    """`findings` of many callables, by so many processes at once."""
    torch.set_num_threads(1)
    good.samples(), good.module_samples()  # once, for all of them
    calls, found = 0, []
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        each = [pool.submit(_findings, module.__name__, name, count, seed, kept) for name in chosen]
        for made, more in (future.result() for future in progress(each)):
            calls += made
            found += more
    return calls, found


def _findings(module: str, *rest: Any) -> tuple[int, list[Finding]]:
    return findings(sys.modules[module], *rest)  # a module is not sent to another process


def share(module: ModuleType, size: int, seed: object) -> Iterator[str]:
    """So many of the callables, drawn by the seed."""
    yield from Random(f"{seed}").sample(names(torch, module), size)
