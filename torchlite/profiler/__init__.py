"""`torch.profiler`: profiling a training loop step by step."""

from __future__ import annotations

import enum
import functools
import gzip
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from typing_extensions import deprecated

from ..autograd.profiler import kineto_available, record_function
from ..autograd.profiler import profile as _autograd_profile
from ..autograd.profiler_util import DeviceType
from ..core.state import Context, State
from ..core.values import warn
from ..faces import later

if TYPE_CHECKING:
    from ..autograd.profiler_util import EventList

__all__ = [
    "profile", "schedule", "supported_activities", "tensorboard_trace_handler", "ProfilerAction", "ProfilerActivity",
    "kineto_available", "record_function", "DeviceType", "ExecutionTraceObserver",
]  # fmt: skip


class ProfilerAction(enum.Enum):
    """What the profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(enum.Enum):
    """The activities that the profiler supports; here, those of the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded: the CPU, and CUDA where there is a device."""
    return {ProfilerActivity.CPU}


def _default_schedule_fn(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What to do in which step: after `skip_first` steps, cycles of waiting, warming up and recording.

    There are `repeat` cycles, or as many as there are steps; with `skip_first_wait` the first of them does not wait.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        cycle, step = divmod(step, wait + warmup + active)
        if (repeat and cycle >= repeat) or step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        last = step == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


class ExecutionTraceObserver:
    """Would write what operators are called with to a file, which is not done here."""

    def __init__(self) -> None:
        raise NotImplementedError("torchlite writes no execution traces: use profile(...).export_chrome_trace")


@functools.cache
def _warn_of_cycles() -> None:
    warn(
        "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
        "reported. To keep events across cycles, set acc_events=True.",
    )


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile(Context):
    """Profile what is inside a `with`; with a `schedule`, only the steps it says, `step()` being called after each.

    `on_trace_ready` is called with the profiler when a stretch of recorded steps has ended.
    """

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None, on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
        with_modules: bool = False, experimental_config: Any = None, execution_trace_observer: Any = None,
        acc_events: bool = False, use_cuda: bool | None = None, custom_trace_id_callback: Any = None,
    ) -> None:  # fmt: skip
        self.activities = set(activities) if activities is not None else supported_activities()
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule or _default_schedule_fn
        self.on_trace_ready = on_trace_ready
        self.options = {
            "record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
            "with_flops": with_flops, "with_modules": with_modules,
        }  # fmt: skip
        self.step_num = 0
        self.names_steps = schedule is not None
        self.current_action = self.schedule(0)
        self.profiler: Any = None
        self.acc_events = acc_events
        self.preset_metadata: dict[str, Any] = {}
        self._step: record_function | None = None
        self._recording = False

    def _take(self, state: State) -> None:
        pass

    def _set(self, state: State, kept: None) -> profile:
        self.start()
        return self

    def _put(self, state: State, kept: None) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to record."""
        self._begin_step()

    def stop(self) -> None:
        """Stop recording."""
        self._end_step()
        if self._recording:
            self._save()

    def step(self) -> None:
        """Say that the next step begins."""
        self._end_step()
        self.step_num += 1
        last, self.current_action = self.current_action, self.schedule(self.step_num)
        if self._recording and (last is ProfilerAction.RECORD_AND_SAVE or self.current_action not in _RECORDING):
            self._save()
        self._begin_step()

    def _begin_step(self) -> None:
        if self.current_action not in _RECORDING:
            return
        if not self._recording:
            if self.profiler is not None and not self.acc_events:
                _warn_of_cycles()
            self._before = self.profiler.function_events if self.profiler is not None and self.acc_events else []
            self.profiler = _autograd_profile(**self.options)
            self._recording = True
            self.profiler.__enter__()
        if self.names_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _save(self) -> None:
        self.profiler.__exit__()
        self.profiler.function_events[:0] = self._before
        self._recording = False
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _recorded(self) -> _autograd_profile:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before getting events")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last recorded stretch."""
        return self._recorded().function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events of the last recorded stretch, summed by name."""
        return self._recorded().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def _repr_html_(self) -> str | None:
        """The last recorded stretch as a table, in notebooks."""
        return None if self.profiler is None else self.events()._repr_html_()

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the last recorded stretch to a file, packed if its name ends in `.gz`."""
        path = os.fspath(path)
        if not path.endswith(".gz"):
            self._recorded().function_events.export_chrome_trace(path, **self.preset_metadata)
            return
        plain = path.removesuffix(".gz")
        self.export_chrome_trace(plain)
        with open(plain, "rb") as source, gzip.open(path, "wb") as target:
            shutil.copyfileobj(source, target)
        os.remove(plain)

    @deprecated(
        "`export_memory_timeline` is deprecated and will be removed in a future version. Please use "
        "`torch.cuda.memory._record_memory_history` and `torch.cuda.memory._export_memory_snapshot` instead.",
        category=FutureWarning,
    )
    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Write what memory there was in the last recorded stretch, and what for.

        A page with a drawing for a `path` that ends in `.html`; every change for `raw.json.gz`; else times and bytes.
        """
        from ._memory_profiler import MemoryProfileTimeline

        needed = ("record_shapes", "profile_memory", "with_stack")
        missing = ", ".join([f"{name}=True" for name in needed if not self.options[name]])
        if missing:
            raise ValueError(f"{missing} required for memory profiling.")
        MemoryProfileTimeline(self.events()).export(path)

    def add_metadata(self, key: str, value: str) -> None:
        """Say something about the run in the traces that are written."""
        self.preset_metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same with a value given as JSON."""
        self.preset_metadata[key] = json.loads(value)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write what a flame graph of the last recorded stretch is drawn from."""
        self._recorded().export_stacks(path, metric)


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """An `on_trace_ready` that writes each stretch to a file of its own in a directory."""

    def write(profiler: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        profiler.export_chrome_trace(os.path.join(dir_name, name))

    return write


__getattr__ = later(__name__)
for _function in (schedule, supported_activities, tensorboard_trace_handler):
    _function.__module__ = f"{__name__}.profiler"
