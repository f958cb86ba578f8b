"""What can be said of a collective, and how closely calls are watched."""

from __future__ import annotations

import enum
import os
from datetime import timedelta
from typing import Any

from ..core.values import bear_name, shown_in
from .reduction import ReduceOp

__all__ = [
    "AllToAllOptions", "AllgatherOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "BarrierOptions",
    "BroadcastOptions", "DebugLevel", "GatherOptions", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions",
    "default_pg_timeout", "get_debug_level", "set_debug_level", "set_debug_level_from_env",
]  # fmt: skip

default_pg_timeout = timedelta(minutes=30)


class _Options:
    """What can be said of a collective."""

    timeout = timedelta(milliseconds=-1)  # that of the group
    asyncOp = True

    def __init__(self) -> None:
        pass


def _options(name: str, **said: Any) -> type[_Options]:
    cls = type(name, (_Options,), {**said, "__doc__": f"What can be said of `{name.removesuffix('Options')}`."})
    bear_name(cls, "torch.distributed.distributed_c10d")
    return cls


AllreduceOptions = _options("AllreduceOptions", reduceOp=ReduceOp.SUM)
AllreduceCoalescedOptions = _options("AllreduceCoalescedOptions", reduceOp=ReduceOp.SUM)
ReduceOptions = _options("ReduceOptions", reduceOp=ReduceOp.SUM, rootRank=0, rootTensor=0)
ReduceScatterOptions = _options("ReduceScatterOptions", reduceOp=ReduceOp.SUM)
BroadcastOptions = _options("BroadcastOptions", rootRank=0, rootTensor=0)
GatherOptions = _options("GatherOptions", rootRank=0)
ScatterOptions = _options("ScatterOptions", rootRank=0)
AllgatherOptions = _options("AllgatherOptions")
AllToAllOptions = _options("AllToAllOptions")
BarrierOptions = _options("BarrierOptions", device_ids=(), device=None)


@shown_in("torch.distributed")
class DebugLevel(enum.Enum):
    """How closely calls are watched: with DETAIL, that all processes make the same."""

    OFF, INFO, DETAIL = range(3)


_level: DebugLevel | None = None  # as set, or read from the environment when first asked for


def get_debug_level() -> DebugLevel:
    """How closely calls are watched."""
    if _level is None:
        set_debug_level_from_env()
    assert _level is not None
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Watch the calls of groups made from now on so closely."""
    global _level
    _level = level


def set_debug_level_from_env() -> None:
    """Watch calls as closely as TORCH_DISTRIBUTED_DEBUG says."""
    word = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if word not in DebugLevel.__members__:
        raise RuntimeError(f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, and is {word}.")
    set_debug_level(DebugLevel[word])
