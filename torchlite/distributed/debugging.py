"""A debugger on one of several processes."""

from __future__ import annotations

import itertools
import pdb
from datetime import timedelta

from .collectives import barrier
from .world import get_rank

_calls = itertools.count(1)


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: float = 3600) -> None:
    """Stop in a debugger on one process, for which the others wait; the first `skip` calls go on."""
    if skip and next(_calls) <= skip:
        return
    if get_rank() == rank:
        print(f"Rank {rank} stops in a debugger: `up` leads to the call of breakpoint(), `continue` goes on.")
        pdb.set_trace()
    barrier(timeout=timedelta(seconds=timeout_s))
