"""Groups of backends that programs registered: subclasses of `ProcessGroup`, whose methods do what is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ..core.machine import Tensor, functions
from ..core.values import shown_in
from . import options
from .process_group import COALESCED, ProcessGroup
from .reduction import ReduceOp, supports_complex
from .stores import Store
from .work import Work, _IllegalWork

_METHODS = {  # of groups, by the names of calls, and what they are told with
    "all_gather": ("allgather", options.AllgatherOptions),
    "all_gather_coalesced": ("allgather_coalesced", options.AllgatherOptions),
    "all_gather_into_tensor": ("all_gather_single", options.AllgatherOptions),
    "all_gather_into_tensor_coalesced": ("all_gather_single_coalesced", options.AllgatherOptions),
    "all_reduce": ("allreduce", options.AllreduceOptions),
    "all_reduce_coalesced": ("allreduce_coalesced", options.AllreduceCoalescedOptions),
    "all_to_all": ("alltoall", options.AllToAllOptions),
    "all_to_all_single": ("all_to_all_single", options.AllToAllOptions),
    "barrier": ("barrier", options.BarrierOptions),
    "broadcast": ("broadcast", options.BroadcastOptions),
    "gather": ("gather", options.GatherOptions),
    "reduce": ("reduce", options.ReduceOptions),
    "reduce_scatter": ("reduce_scatter", options.ReduceScatterOptions),
    "reduce_scatter_tensor": ("reduce_scatter_single", options.ReduceScatterOptions),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter_single_coalesced", options.ReduceScatterOptions),
    "scatter": ("scatter", options.ScatterOptions),
}
_COMPLEX = frozenset(["gather", "reduce", "reduce_scatter", "reduce_scatter_tensor"])  # told of such; others, of parts


@shown_in("torch._C._distributed_c10d")
@dataclass
class _DistributedBackendOptions:
    """What a registered backend with the extended interface is told of the group to make."""

    store: Store
    group_rank: int
    group_size: int
    timeout: timedelta
    group_id: str
    global_ranks_in_group: list[int]


def made(plugin: Any, told: _DistributedBackendOptions, pg_options: Any) -> ProcessGroup:
    """The group that a registered backend makes."""
    plain = (told.store, told.group_rank, told.group_size, told.timeout)
    group = plugin.creator_fn(*((told, pg_options) if plugin.extended_api else plain))
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"a registered backend makes a torch.distributed.ProcessGroup, and no {type(group).__name__}")
    return group


def handed(pg: Any, name: str, async_op: bool, *args: Any, **said: Any) -> Work | None:
    """Have the group's own method do what is asked for; `said` are its options."""
    if pg._coalesced is not None and name in COALESCED:
        pg._coalesced.append((name, args, said))
        return _IllegalWork() if async_op else None
    if "reduceOp" in said:
        op = said["reduceOp"]
        if name not in _COMPLEX and not supports_complex(op) and any(tensor.is_complex() for tensor in args[0]):
            raise ValueError(f"all_reduce does not support {op} on complex tensors")
        said["reduceOp"] = op if type(op) is ReduceOp else ReduceOp(op)
    if name not in _COMPLEX:
        args = _in_parts(args)
    method, kind = _METHODS[name]
    opts = kind()
    vars(opts).update(said, asyncOp=async_op)
    if getattr(type(pg), method, None) is getattr(ProcessGroup, method, None):
        raise RuntimeError("No backend type associated with device type cpu")
    work = pg.barrier(opts=opts) if name == "barrier" else getattr(pg, method)(*args, opts)
    if async_op:
        return work
    if work is not None:
        work.wait()
    return None


def handed_as_one(pg: ProcessGroup, calls: Sequence[Any], async_op: bool) -> Work | None:
    """Have several calls of a kind done as one."""
    name, _, said = calls[0]
    columns = zip(*(args for _, args, _ in calls))
    together = [[tensor for each in column for tensor in ([each] if isinstance(each, Tensor) else each)]
                for column in columns]  # fmt: skip
    return handed(pg, f"{name}_coalesced", async_op, *together, **said)


def sent(pg: Any, tensor: Tensor, to: int, tag: int) -> Work:
    """Have the group's own method begin to send."""
    return pg.send([_in_parts(tensor)], to, tag)


def received(pg: Any, tensor: Tensor, source: int | None, tag: int) -> Work:
    """Have the group's own method begin to receive, from anyone where no source is named."""
    rooms = [_in_parts(tensor)]
    return pg.recv_anysource(rooms, tag) if source is None else pg.recv(rooms, source, tag)


def _in_parts(given: Any) -> Any:
    """Complex tensors as real ones, wherever they are in lists."""
    if isinstance(given, Tensor):
        return functions["view_as_real"](given) if given.is_complex() else given
    return type(given)(map(_in_parts, given)) if isinstance(given, (list, tuple)) else given
