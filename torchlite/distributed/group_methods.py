"""The collectives as methods of groups, in the words of PyTorch's C++: they begin, and give what to wait for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ..core.machine import Tensor
from . import collectives, messages
from .process_group import ProcessGroup
from .reduction import ReduceOp
from .work import Work


def _list(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _op(said: Any) -> Any:
    return getattr(said, "reduceOp", ReduceOp.SUM if said is None else said)


def _root(said: Any) -> int:
    return getattr(said, "rootRank", 0 if said is None else said)


def _first(tensors: Any) -> Any:
    """The one tensor, or list of them, that this process has: lists of several are for several devices."""
    return tensors[0] if isinstance(tensors, (list, tuple)) else tensors


def _lists(tensors: Any) -> list[Tensor]:
    return list(tensors[0]) if tensors and isinstance(tensors[0], (list, tuple)) else list(tensors)


def _begun(work: Work | None) -> Work:
    assert work is not None  # which it is only outside of a group
    return work


def allreduce(self: ProcessGroup, tensors: Any, opts: Any = None, timeout: timedelta | None = None) -> Work:
    """Begin to reduce the tensors of all processes."""
    return _begun(collectives._all_reduce(self, _list(tensors), _op(opts), True))


def broadcast(self: ProcessGroup, tensors: Any, opts: Any = None, timeout: timedelta | None = None) -> Work:
    """Begin to give the tensor of one process to all."""
    return _begun(collectives.broadcast(_first(tensors), group=self, async_op=True, group_src=_root(opts)))


def reduce(
    self: ProcessGroup, tensors: Any, opts: Any = None, op: Any = None, timeout: timedelta | None = None
) -> Work:
    """Begin to reduce the tensors of all processes, for one."""
    kind = _op(opts if op is None and not isinstance(opts, int) else op)
    return _begun(collectives.reduce(_first(tensors), op=kind, group=self, async_op=True, group_dst=_root(opts)))


def allgather(
    self: ProcessGroup, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: timedelta | None = None
) -> Work:
    """Begin to give the tensors of all processes to all."""
    return _begun(collectives.all_gather(_lists(output_tensors), _first(input_tensors), self, True))


def gather(
    self: ProcessGroup, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: timedelta | None = None
) -> Work:
    """Begin to give the tensors of all processes to one."""
    outs = _lists(output_tensors) or None
    return _begun(collectives.gather(_first(input_tensors), outs, group=self, async_op=True, group_dst=_root(opts)))


def scatter(
    self: ProcessGroup, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: timedelta | None = None
) -> Work:
    """Begin to give each process one of the tensors that one has."""
    given = _lists(input_tensors) or None
    return _begun(collectives.scatter(_first(output_tensors), given, group=self, async_op=True, group_src=_root(opts)))


def reduce_scatter(
    self: ProcessGroup, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: timedelta | None = None
) -> Work:
    """Begin to reduce lists of tensors, one for each process."""
    return _begun(collectives.reduce_scatter(_first(output_tensors), _lists(input_tensors), _op(opts), self, True))


def alltoall(self: ProcessGroup, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
    """Begin to give each process one of a list of tensors."""
    return _begun(collectives.all_to_all(output_tensors, input_tensors, self, True))


def all_to_all_single(
    self: ProcessGroup, output: Tensor, input: Tensor, output_split_sizes: Sequence[int],
    input_split_sizes: Sequence[int], opts: Any = None,
) -> Work:  # fmt: skip
    """Begin to give each process some rows of a tensor."""
    return _begun(collectives.all_to_all_single(output, input, output_split_sizes, input_split_sizes, self, True))


def all_gather_single(self: ProcessGroup, output: Tensor, input: Tensor, opts: Any = None) -> Work:
    """Begin to give the tensors of all processes to all, in one tensor."""
    return _begun(collectives.all_gather_single(output, input, self, True))


def reduce_scatter_single(self: ProcessGroup, outputTensor: Tensor, inputTensor: Tensor, opts: Any = None) -> Work:
    """Begin to reduce a tensor, of which each process gets a part."""
    return _begun(collectives.reduce_scatter_single(outputTensor, inputTensor, _op(opts), self, True))


def barrier(self: ProcessGroup, opts: Any = None, timeout: timedelta | None = None) -> Work:
    """Begin to wait for all processes."""
    return _begun(collectives.barrier(self, True, timeout=timeout))


def monitored_barrier(self: ProcessGroup, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Wait for all processes; who has not come in time is named."""
    messages.monitored_barrier(self, timeout, wait_all_ranks)


def send(self: ProcessGroup, tensors: Any, dstRank: int, tag: int) -> Work:
    """Begin to send a tensor to one process of the group."""
    return _begun(messages.isend(_first(tensors), group=self, tag=tag, group_dst=dstRank))


def recv(self: ProcessGroup, tensors: Any, srcRank: int, tag: int) -> Work:
    """Begin to receive a tensor from one process of the group."""
    return _begun(messages.irecv(_first(tensors), group=self, tag=tag, group_src=srcRank))


def recv_anysource(self: ProcessGroup, tensors: Any, tag: int) -> Work:
    """Begin to receive a tensor from any process of the group."""
    return _begun(messages.irecv(_first(tensors), group=self, tag=tag))


for _method in (
    allreduce, broadcast, reduce, allgather, gather, scatter, reduce_scatter, alltoall, all_to_all_single,
    all_gather_single, reduce_scatter_single, barrier, monitored_barrier, send, recv, recv_anysource,
):  # fmt: skip
    _method.__qualname__ = f"ProcessGroup.{_method.__name__}"
    setattr(ProcessGroup, _method.__name__, _method)
for _older, _name in {
    "allreduce_coalesced": "allreduce", "alltoall_base": "all_to_all_single", "_allgather_base": "all_gather_single",
    "_reduce_scatter_base": "reduce_scatter_single",
}.items():  # fmt: skip
    setattr(ProcessGroup, _older, getattr(ProcessGroup, _name))
