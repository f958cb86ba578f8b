"""What a run used of torch, what it missed, and how long each operation took."""

from __future__ import annotations

import atexit
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ..autograd.profiler import Recorder
from ..autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg
from ..core.state import local
from .naming import inside, torch_name

_OURS = ("torchlite", "importlib")


class Report:
    """Watches from `start` on, in this thread, and is printed to stderr when it is stopped or the process ends."""

    def __init__(self, missing: Counter[str]) -> None:
        self.missing = missing
        self.used: set[str] = set()
        self.tally = _Tally()

    def start(self) -> Callable[[], None]:
        state = local.state
        before = state.mode.profiler
        state.mode = state.mode.but(profiler=self.tally)
        atexit.register(self.print)

        def stop() -> None:
            state.mode = state.mode.but(profiler=before)
            atexit.unregister(self.print)
            self.print()

        return stop

    def watch(self, module: ModuleType) -> Callable[[], None]:
        """Note which names are read from a module, but for those that torchlite itself reads."""
        before = type(module)
        shown, used = torch_name(module.__name__), self.used

        class Watched(before):  # type: ignore[misc, valid-type]
            def __getattribute__(self, name: str) -> Any:
                value = super().__getattribute__(name)
                asker = sys._getframe(1).f_globals.get("__package__") or ""
                if not (name.startswith("__") or isinstance(value, ModuleType) or inside(asker, _OURS)):
                    used.add(f"{shown}.{name}")
                return value

        module.__class__ = Watched

        def restore() -> None:
            module.__class__ = before

        return restore

    def print(self) -> None:
        print(self, file=sys.stderr)

    def __str__(self) -> str:
        times = EventList(self.tally.sums.values()).table("self_cpu_time_total", row_limit=-1)
        return "\n".join((
            f"torchlite: {len(self.used)} names used",
            *(f"  {name}" for name in sorted(self.used)),
            f"torchlite: {len(self.missing)} names missing",
            *(f"  {name} ({count}×)" for name, count in self.missing.most_common()),
            "torchlite: time per operation, in the main thread",
            times,
        ))  # fmt: skip


class _Tally(Recorder):
    """Adds up by name what a Recorder would write down."""

    def __init__(self) -> None:
        super().__init__(shapes=False, stacks=False)
        self.sums: dict[str, FunctionEventAvg] = {}

    def begin(self, name: str, args: Sequence[Any] = (), annotation: bool = False) -> FunctionEvent:
        event = super().begin(name, args, annotation)
        self.events.clear()
        return event

    def end(self, event: FunctionEvent) -> None:
        before = list(self.open)
        super().end(event)
        for ended in before[len(self.open) :]:
            into = self.sums.setdefault(ended.name, FunctionEventAvg(ended.name))
            into.add(ended)
            into.cpu_children.clear()
        event.cpu_children.clear()
