"""A group of processes that work together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..core.machine import Tensor
from ..core.state import local
from ..core.values import missing_kernel_of, shown_in, sparse_coo, strided
from ..core.values.device import device
from .call import Call
from .detail import check_the_same
from .engines.base import Done, Engine
from .options import DebugLevel, default_pg_timeout, get_debug_level
from .recording import names_of
from .stores import Store
from .work import Line, Work, _IllegalWork

_IN_PYTORCH = {  # what traces and comparisons of processes call them
    "all_gather": "allgather_", "all_gather_coalesced": "allgather_coalesced_",
    "all_gather_into_tensor": "_allgather_base_",
    "all_gather_into_tensor_coalesced": "allgather_into_tensor_coalesced_", "all_reduce": "allreduce_",
    "all_reduce_coalesced": "allreduce_coalesced_", "all_to_all": "alltoall_", "all_to_all_single": "alltoall_base_",
    "barrier": "barrier", "broadcast": "broadcast_", "gather": "gather_", "recv": "recv_", "reduce": "reduce_",
    "reduce_scatter": "reduce_scatter_", "reduce_scatter_tensor": "_reduce_scatter_base_",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor_coalesced_", "scatter": "scatter_", "send": "send",
    "recv_any_source": "recv_any_source_", "sparse_all_reduce": "allreduce_",
}  # fmt: skip
_DONE_BY = {  # what traces say that a backend does, where that is not what it was asked for
    "all_gather_coalesced": "all_gather", "all_gather_into_tensor": "all_gather",
    "all_gather_into_tensor_coalesced": "all_gather", "all_reduce_coalesced": "all_reduce",
    "all_to_all_single": "all_to_all", "recv_any_source": "recvAnySource", "reduce_scatter": "all_reduce",
    "reduce_scatter_tensor": "all_reduce", "reduce_scatter_tensor_coalesced": "all_reduce",
}  # fmt: skip
COALESCED = frozenset(["all_gather_into_tensor", "all_reduce", "reduce_scatter_tensor"])
_NO_SUCH_PLACE = (
    "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
    "    1. torch._C._distributed_c10d.ProcessGroup(rank: typing.SupportsInt | typing.SupportsIndex, "
    "size: typing.SupportsInt | typing.SupportsIndex)\n"
    "    2. torch._C._distributed_c10d.ProcessGroup(store: torch._C._distributed_c10d.Store, "
    "rank: typing.SupportsInt | typing.SupportsIndex, size: typing.SupportsInt | typing.SupportsIndex)\n\n"
    "Invoked with: "
)


@shown_in("torch.distributed.distributed_c10d")
class ProcessGroup:
    """A group of processes that work together, as one of them sees it."""

    _asked_for = ""  # the backend, by the name that was given
    _sequence = 0  # of the next collective that is watched
    _coalesced: list[Any] | None = None  # what is to be done as one

    def __init__(self, *place: Any, **named: Any) -> None:
        words = ("store", "rank", "size")[-len(place) - len(named) :]  # the store may be left out
        said: Any = dict(zip(words, place)) | named
        if said.keys() != set(words) or len(words) < 2:
            raise TypeError(_NO_SUCH_PLACE + ", ".join(map(repr, place)))
        self._store, self._rank, self._size = said.get("store"), said["rank"], said["size"]
        self._engines: dict[str, Engine] = {}  # by the types of devices that they serve
        self._registered = type(self) is not ProcessGroup  # then its own methods do what is asked for
        self._join(range(self._size), "undefined", "", "", default_pg_timeout)

    def _join(self, ranks: Sequence[int], backend: str, name: str, desc: str, timeout: timedelta) -> None:
        """Be known as a group of these."""
        self._ranks, self._by_rank = list(ranks), {rank: number for number, rank in enumerate(ranks)}
        self._backend, self._name, self._desc, self._timeout = backend, name, desc, timeout

    def _connect(self, engines: dict[str, Engine]) -> None:
        """Talk by these."""
        self._engines = engines
        self._lines = {id(engine): Line() for engine in engines.values()}
        self._detailed = get_debug_level() is DebugLevel.DETAIL

    @property
    def group_name(self) -> str:
        """By what all its processes know it."""
        return self._name

    @property
    def group_desc(self) -> str:
        """What it is for."""
        return self._desc

    @property
    def _main(self) -> Engine:
        return next(iter(self._engines.values()), None) or self._engine("cpu")

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes there are."""
        return self._size

    def name(self) -> str:
        """The name of what the processes talk by."""
        if self._registered:
            return self.getBackendName() if hasattr(self, "getBackendName") else "undefined"
        return self._backend.partition(",")[0].partition(":")[2] or self._backend

    @property
    def _device_types(self) -> list[device]:
        return [device(kind) for kind in self._engines]

    def get_group_store(self) -> Store:
        """The store by which the processes found each other."""
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait so long for others from now on."""
        self._timeout = timeout
        for engine in self._engines.values():
            engine.timeout = timeout.total_seconds()

    def abort(self) -> None:
        """Let all that waits, here and in the other processes, end with an error."""
        for engine in self._engines.values():
            engine.fail(f"rank {self._ranks[self.rank()]} aborted the process group")
        self.shutdown()

    def shutdown(self) -> None:
        """Leave the group."""
        for engine in self._engines.values():
            self._lines[id(engine)].close()
            engine.close()

    def _engine(self, device: str) -> Engine:
        engine = self._engines.get(device)
        if engine is None:
            raise RuntimeError(f"No backend type associated with device type {device}")
        return engine

    def _call(self, name: str, results: Sequence[Tensor], given: Sequence[Tensor] | None = None) -> Call:
        """What is to be filled in: the beginning of a collective on tensors of one device; the results, unless others
        are given, are what it begins with."""
        several = [*results, *(given or ())]
        for tensor in several:
            if tensor.layout is not strided and (name, tensor.layout) != ("all_reduce", sparse_coo):
                raise missing_kernel_of(_IN_PYTORCH[name], tensor._backend, "c10d")
        engine = self._engine(several[0].device.type) if several else self._main
        return Call(name, engine, results, results if given is None else given)

    def _do(
        self, call: Call, task: Callable[[], Any], async_op: bool, shown: Sequence[Tensor] | None = None
    ) -> Work | None:
        """Run a collective, now or in the thread of the group; profilers see when it was asked for, and when done.

        What is `shown` of it is compared among processes, where that is asked for; else what it fills.
        """
        call.task = task
        if self._coalesced is not None and call.name in COALESCED:
            self._coalesced.append(call)
            return _IllegalWork() if async_op else None
        shown = call.results if shown is None else shown
        recorder = local.state.mode.profiler
        if recorder is None:
            return self._begin(call, async_op, shown, call.run)
        event = recorder.begin(self._asked_as(call), call.results)
        try:
            names = self._done_as(call)
            return self._begin(call, async_op, shown, lambda: recorder.elsewhere(names, call.shapes(), call.run))
        finally:
            recorder.end(event)

    def _asked_as(self, call: Call) -> str:
        return f"c10d::{_IN_PYTORCH[call.name]}"

    def _done_as(self, call: Call) -> list[str]:
        return names_of(f"{self.name()}:{_DONE_BY.get(call.name, call.name)}")

    def _message(self, call: Call, begin: Callable[[Done], None]) -> Work:
        """Begin a send or a receive; the rank at the other end is told as one of all processes."""
        seconds = self._timeout.total_seconds()
        work = Work(call.name.removesuffix("_any_source"), call.results, seconds, call.engine.begin)
        work._settle = call.settle
        recorder = local.state.mode.profiler
        if recorder is not None:
            recorder.end(recorder.begin(self._asked_as(call), call.results))
            work._seen = recorder.beside(self._done_as(call), call.shapes())
        begin(lambda error, other: work._finish(error, self._ranks[other] if other >= 0 else -1))
        return work

    def _begin(self, call: Call, async_op: bool, shown: Sequence[Tensor], run: Callable[[], None]) -> Work | None:
        line = self._lines[id(call.engine)]
        if self._detailed:
            check_the_same(self, line, call.engine, _IN_PYTORCH[call.name], shown)
        run = call.engine.placed(run, beside=async_op)
        seconds = self._timeout.total_seconds()
        if not async_op:
            line.now(call.name, run, seconds)
            return None
        work = Work(call.name, call.results, seconds)
        line.later(run, work)
        return work


Group = ProcessGroup | None  # None stands for that of all processes
