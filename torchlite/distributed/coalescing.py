"""Several collectives that are done as one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..core.values import DeviceLike, shown_in
from ..core.values.device import device as device_of
from .call import Call
from .process_group import Group
from .registered import handed_as_one
from .work import Work
from .world import _get_default_group


@shown_in("torch.distributed.distributed_c10d")
class _CoalescingManager:
    """What was begun in a context, to be waited for."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        """Wait for this, too."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait until all is done."""
        for work in self.works:
            work.wait()


@contextlib.contextmanager
def _coalescing_manager(
    group: Group = None, device: DeviceLike = None, async_ops: bool | None = False
) -> Iterator[_CoalescingManager]:
    """Reductions (or gathers, or scattered reductions) in here are done as one when it is left.

    With a device, whatever is asked for in here is begun at once; only NCCL does that.
    """
    pg = group or _get_default_group()
    if pg._coalesced:
        raise ValueError("ProcessGroup has non-empty op list at the start of coalescing")
    manager = _CoalescingManager()
    if device is not None and not pg._registered:
        engine = pg._engine(device_of(device).type)
        if engine.device == "cpu":
            raise RuntimeError(f"Backend {pg.name()} does not implement startCoalescing")
        yield manager
        engine.begin()
        return
    calls: list[Any] = []
    pg._coalesced = calls
    try:
        yield manager
    finally:
        pg._coalesced = None
    if calls:
        _check_of_a_kind({call[0] if pg._registered else call.name for call in calls})
        begun = bool(async_ops)
        manager.append(handed_as_one(pg, calls, begun) if pg._registered else pg._do(*_joined(calls), begun))


def _check_of_a_kind(names: set[str]) -> None:
    if len(names) > 1:
        shown = {_SHOWN.get(name, name) for name in names}
        raise RuntimeError(
            f"Coalescing manager requires all collectives to be the same type, but got mixed types: {shown}"
        )


def _joined(calls: list[Call]) -> tuple[Call, Callable[[], None]]:
    """One call that does what several of a kind would, and what it does."""
    joined = Call(
        f"{calls[0].name}_coalesced", calls[0].engine, [each for call in calls for each in call.results],
        [each for call in calls for each in call.given],
    )  # fmt: skip

    def task() -> None:
        for call in calls:
            call.run()

    return joined, task


_SHOWN = {"all_gather_into_tensor": "all_gather_single", "reduce_scatter_tensor": "reduce_scatter_single"}
