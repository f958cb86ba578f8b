"""Calling one callable badly in both libraries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from types import ModuleType

import torch

from .accepted import reason
from .callables import names
from .children import outcomes
from .compare import Finding, kind_of
from .good import good_calls
from .hostile import bad_calls


def findings(module: ModuleType, name: str, count: int, seed: object) -> tuple[int, list[Finding]]:
    """How many calls were made of a callable, and those of which the libraries do not do the same."""
    torch.set_num_threads(1)  # children that are forked beside other threads wait for these for ever
    random = Random(f"{seed}:{name}")
    good = good_calls(name, random)
    fixed = int(name.startswith("torch.Tensor."))
    calls = list(islice(bad_calls(good, random, fixed), count))
    found = []
    for call, theirs, mine in zip(calls, outcomes(torch, calls), outcomes(module, calls), strict=True):
        kind = kind_of(theirs, mine)
        if kind is not None and not (kind == "accepted" and reason(name, str(theirs))):
            found.append(Finding(name, call, kind, theirs, mine))
    return len(calls), found


def share(module: ModuleType, size: int, seed: object) -> Iterator[str]:
    """So many of the callables, drawn by the seed."""
    yield from Random(f"{seed}").sample(names(torch, module), size)
