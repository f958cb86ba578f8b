"""A profiler of what this thread does: operations, nodes of the backward pass, and stretches that the program names.

While one is on, a `Recorder` stands in the thread's mode. Calls of public functions come to it through the door that
`__torch_function__` uses, and nodes through that of anomaly detection, so that nothing is paid when it is off.
"""

from __future__ import annotations

import functools
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.machine import Node, TensorBase, functions, name_of
from ..core.machine.registry import aliases, registry
from ..core.state import Mode, Switch, leaving, local
from ..core.values import warn
from .profiler_flops import flops
from .profiler_modules import ModuleWatch
from .profiler_records import EnforceUnique as EnforceUnique
from .profiler_records import KinetoStepTracker as KinetoStepTracker
from .profiler_records import MemRecordsAcc as MemRecordsAcc
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg

if TYPE_CHECKING:
    import os

    from .profiler_memory import Allocation, MemoryRecord, MemoryWatch

__all__ = ["profile", "record_function", "emit_itt", "emit_nvtx", "EventList", "FunctionEvent", "FunctionEventAvg"]

# Functions that PyTorch's operations have other names for.
_NAMES = {
    "__getitem__": "index", "__setitem__": "index_put_", "float": "to", "double": "to", "half": "to", "bfloat16": "to",
    "int": "to", "long": "to", "short": "to", "bool": "to", "cpu": "to", "cuda": "to", "type_as": "to",
    "cross_entropy": "cross_entropy_loss", "nll_loss": "nll_loss_nd",
}  # fmt: skip
# Its operations that are functions made of others here.
_COMPOSITE = frozenset((
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "cross_entropy_loss", "item", "l1_loss",
    "linear", "nll_loss_nd", "one_hot", "pad", "scaled_dot_product_attention", "to",
))  # fmt: skip


class Recorder:
    """Writes down what happens and when; what happens inside something else becomes its child."""

    def __init__(
        self, shapes: bool, stacks: bool, memory: bool = False, counts: bool = False, modules: bool = False
    ) -> None:
        self.shapes = shapes
        self.stacks = stacks
        self.counts = counts
        self.modules = ModuleWatch(self) if modules else None
        self.memory: MemoryWatch | None = None
        if memory:
            from .profiler_memory import MemoryWatch

            self.memory = MemoryWatch(self.note)
        self.records: list[MemoryRecord] = []
        self.allocated = 0
        self.events: list[FunctionEvent] = []
        self.open: list[FunctionEvent] = []
        self.entering = False
        self.thread = threading.get_native_id()
        self.start = time.perf_counter_ns()
        self.began = time.time_ns()
        self.operations = {name.partition(".")[0] for name in registry} | functions.keys() | aliases.keys() | _COMPOSITE

    def now(self) -> float:
        return (time.perf_counter_ns() - self.start) / 1000

    def begin(self, name: str, args: Sequence[Any] = (), annotation: bool = False) -> FunctionEvent:
        parent = self.open[-1] if self.open else None
        event = FunctionEvent(len(self.events) + 1, name, self.thread, self.now(), is_user_annotation=annotation)
        if self.shapes:
            event.input_shapes = [list(a.shape) if isinstance(a, TensorBase) else [] for a in args]
        if self.stacks:
            lines = reversed(traceback.extract_stack()[:-2])
            event.stack = [f"{line.filename}({line.lineno}): {line.name}" for line in lines]
        if parent is not None:
            event.parent = weakref.ref(parent)
            parent.cpu_children.append(event)
        self.events.append(event)
        self.open.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        """End an event, and those inside it that nobody ended."""
        now = self.now()
        while event in self.open:
            self.open.pop().time_range.end = now

    def beside(self, names: Sequence[str], shapes: list[list[int]]) -> Callable[[], None]:
        """Begin what goes on beside what this thread does; it is written down when the function returned is called."""
        thread, begun = threading.get_native_id(), self.now()

        def done() -> None:
            now = self.now()
            for name in names:
                event = FunctionEvent(len(self.events) + 1, name, thread, begun, now, is_user_annotation=True)
                event.is_async, event.input_shapes = True, shapes if self.shapes else []
                self.events.append(event)

        return done

    def elsewhere(self, names: Sequence[str], shapes: list[list[int]], task: Callable[[], Any]) -> None:
        """Do what another thread does on behalf of this one."""
        done = self.beside(names, shapes)
        try:
            task()
        finally:
            done()

    def note(self, allocation: Allocation, nbytes: int) -> None:
        """Write down that memory came or went: in what is open, or by itself."""
        from .profiler_memory import MemoryRecord

        now, thread = self.now(), threading.get_native_id()
        if allocation.older and nbytes > 0:
            self.records.append(MemoryRecord(-1, thread, allocation, nbytes, 0))
            return
        self.allocated += nbytes
        self.records.append(MemoryRecord(now, thread, allocation, nbytes, self.allocated))
        around = self.open if thread == self.thread else []
        if not around:
            alone = FunctionEvent(len(self.events) + 1, "[memory]", thread, now, now, cpu_memory_usage=nbytes)
            self.events.append(alone)
        for event in around:
            event.cpu_memory_usage += nbytes

    def listens(self) -> bool:
        """Whether it is this thread that is watched, now."""
        return local.state.mode.profiler is self

    def admits(self) -> bool:
        """Whether a call that comes to the door has been written down and may pass."""
        entering, self.entering = self.entering, False
        return entering

    def call(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        name = _NAMES.get(function.__name__, function.__name__)
        titles = [f"aten::{called}" for called in (name, aliases.get(name)) if called is not None]
        known = name in self.operations or name.removesuffix("_") in self.operations
        again = bool(self.open) and self.open[-1].name == titles[0]  # a public function that calls another for its work
        if self.memory is not None:
            self.memory.meet([*args, *kwargs.values()])
        events = [self.begin(title, args) for title in titles] if known and not again else []
        self.entering = True
        try:
            result = function(*args, **kwargs)
            if self.memory is not None:
                self.memory.made([result])
            for event in events[-1:]:
                if isinstance(result, TensorBase) and result.grad_fn is not None:
                    event.sequence_nr = result.grad_fn.sequence_nr
                if self.counts and not any([e.flops for e in event.cpu_children]):
                    event.flops = flops(event.name.removeprefix("aten::"), [*args, *kwargs.values()], result)
            return result
        finally:
            self.entering = False
            for event in reversed(events):
                self.end(event)

    def watching(self, anomaly: Any) -> NodeRecorder:
        """The recorder of the nodes that a backward pass runs."""
        return NodeRecorder(self, anomaly)


class NodeRecorder:
    """Writes down the nodes of a backward pass."""

    def __init__(self, recorder: Recorder, anomaly: Any) -> None:
        self.recorder = recorder
        self.anomaly = anomaly

    def watch(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        whole = self.recorder.begin(f"autograd::engine::evaluate_function: {name_of(node)}")
        inner = self.recorder.begin(name_of(node), grads)
        whole.sequence_nr = inner.sequence_nr = node.sequence_nr
        memory = self.recorder.memory
        if memory is not None:
            memory.meet(grads)
        try:
            results = node.apply(grads) if self.anomaly is None else self.anomaly.watch(node, grads)
            if memory is not None:
                memory.made_backward(results, node.next_edges)
            return results
        finally:
            self.recorder.end(whole)


def kineto_available() -> bool:
    """Whether PyTorch's tracing library is there: the profiler writes its traces by itself."""
    return False


def _profiler_enabled() -> bool:
    return local.state.mode.profiler is not None


def _disable_profiler() -> None:
    """Let nothing more be recorded by the profiler that is on."""
    local.state.mode = local.state.mode.but(profiler=None)


class profile(Switch):
    """Inside a `with`, operations are counted and timed; then there are `key_averages()` and their `table()`."""

    switches = ("profiler",)

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
        record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False,
        with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True, experimental_config: Any = None,
        acc_events: bool = False, custom_trace_id_callback: Any = None,
    ) -> None:  # fmt: skip
        if use_cuda or use_device:
            warn("torchlite's profiler does not record times on devices other than the CPU")
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.with_stack = with_stack
        self.profile_memory = profile_memory
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.function_events: Any = EventList(profile_memory=profile_memory) if enabled else None
        self.finished = False
        self.entered = False
        self._recorder: Recorder | None = None

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(profiler=self._recorder)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._recorder = Recorder(
            self.record_shapes, self.with_stack, self.profile_memory, self.with_flops, self.with_modules
        )
        super().__enter__()
        return self

    @leaving
    def __exit__(self, *_: object) -> None:
        super().__exit__()
        recorder = self._recorder
        if recorder is None:
            return
        if recorder.modules is not None:
            recorder.modules.remove()
        if recorder.open:
            recorder.end(recorder.open[0])
        self.function_events = EventList(recorder.events, profile_memory=self.profile_memory)
        self.function_events.memory, self.function_events.began = recorder.records, recorder.began
        self.finished = True

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events summed by name."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as a table."""
        return self.function_events.table(*args, **kwargs)

    def total_average(self) -> FunctionEventAvg:
        """One event that stands for all."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events without what they called, in microseconds."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events to a file that Perfetto and Chrome open."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write what a flame graph is drawn from; `with_stack` must have been asked for."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    def __repr__(self) -> str:
        return repr(self.function_events) if self.finished else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self.finished else repr(self)


class record_function:
    """A name for what happens inside a `with`, or in a function that it decorates."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self._event: FunctionEvent | None = None

    def __enter__(self) -> record_function:
        self._recorder = local.state.mode.profiler
        if self._recorder is not None:
            self._event = self._recorder.begin(self.name, annotation=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._event is not None:
            self._recorder.end(self._event)
            self._event = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return named


def _unseen(name: str, tool: str) -> NotImplementedError:
    return NotImplementedError(f"torchlite has no torch.autograd.profiler.{name}: it runs no code that {tool} sees")


class emit_nvtx:
    """What nvprof would see of PyTorch: to make one is refused."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise _unseen("emit_nvtx", "nvprof")


class emit_itt:
    """What VTune would see of PyTorch: to make one is refused."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise _unseen("emit_itt", "VTune")
