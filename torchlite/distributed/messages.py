"""Tensors from one process to another, and barriers that say who is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from ..core.machine import Tensor
from ..core.values import shown_in
from .checks import check_tensor, root_of
from .errors import DistBackendError, DistStoreError
from .process_group import Group, ProcessGroup
from .registered import received, sent
from .stores import Store
from .work import Work
from .world import _checked_timeout, _get_default_group, _member, get_global_rank

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "monitored_barrier", "recv", "send"]

_BARRIER = -1  # the tag of barriers' own messages, which no program's can be


def isend(
    tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a tensor to one process."""
    check_tensor(tensor, "tensor")
    pg = _member(group, "isend")
    if pg is None:
        return None
    to = root_of(pg, dst, group_dst, "send")
    if to == pg.rank():
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    if pg._registered:
        return sent(pg, tensor, to, tag)
    call = pg._call("send", [tensor])
    array = call.read(tensor)
    return pg._message(call, lambda done: call.engine.send(array, to, tag, done))


def irecv(
    tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a tensor from one process, or from any."""
    check_tensor(tensor, "tensor")
    pg = _member(group, "irecv")
    if pg is None:
        return None
    source = None if src is None and group_src is None else root_of(pg, src, group_src, "recv")
    if source == pg.rank():
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")
    if pg._registered:
        return received(pg, tensor, source, tag)
    call = pg._call("recv" if source is not None else "recv_any_source", [tensor])
    array = call.fill(tensor)
    return pg._message(call, lambda done: call.engine.receive(array, source, tag, done))


def send(
    tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Send a tensor to one process."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
) -> int:
    """Receive a tensor from one process, or from any, and say from which."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    pg = group or _get_default_group()
    if not pg._registered:
        return work.source_rank()
    if src is None:
        return get_global_rank(pg, work._source_rank() if group_src is None else group_src)
    return src


@shown_in("torch.distributed.distributed_c10d")
class P2POp:
    """A send or a receive that is yet to begin: `isend` or `irecv`, and what it is called with."""

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, group: Group = None,
        tag: int = 0, group_peer: int | None = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                             "``torch.distributed.irecv``.")  # fmt: skip
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = group or _get_default_group()
        self.group_peer = root_of(self.group, peer, group_peer, op.__name__)
        self.peer = get_global_rank(self.group, self.group_peer)

    def __repr__(self) -> str:
        mine = self.group.rank()
        source, to = (mine, self.group_peer) if self.op is isend else (self.group_peer, mine)
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={to},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin sends and receives together, in which none waits for another."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    group = p2p_op_list[0].group
    if any(op.group is not group for op in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    return [op.op(op.tensor, group=op.group, tag=op.tag, **{_PEER[op.op]: op.group_peer}) for op in p2p_op_list]


_PEER = {isend: "group_dst", irecv: "group_src"}


def monitored_barrier(group: Group = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Wait until all processes have called this; who has not come in time is named in the error of the first one."""
    pg = _member(group, "monitored_barrier")
    if pg is None:
        return
    if pg._registered or pg._asked_for == "nccl":
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    if isinstance(timeout, float):
        timeout = timedelta(seconds=timeout)
    seconds = (pg._timeout if timeout is None else _checked_timeout(timeout)).total_seconds()
    if pg.rank():
        try:
            _tell(pg, 0, seconds)
            _await(pg, 0, seconds)
        except RuntimeError as error:
            raise RuntimeError(
                f"Rank {pg._ranks[pg.rank()]} successfully reached monitoredBarrier, but received errors while waiting "
                "for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n Original exception: \n"
                f"{error}"
            ) from None
        return
    deadline, missing = time.monotonic() + seconds, []
    for other in range(1, pg.size()):
        left = deadline - time.monotonic()
        try:
            if left <= 0 and not wait_all_ranks:
                raise RuntimeError(_out_of_time(pg._ranks[:other], seconds))
            _await(pg, other, max(0.0, left))
        except RuntimeError as error:
            missing.append(get_global_rank(pg, other))
            if not wait_all_ranks:
                raise RuntimeError(_late("Rank", missing, seconds) + f"\n Original exception: \n{error}") from None
    if missing:
        raise RuntimeError(_late("Ranks", missing, seconds))
    for other in range(1, pg.size()):
        _tell(pg, other, seconds)


def _store_based_barrier(
    rank: int, store: Store, group_name: str, rendezvous_count: int, timeout: timedelta,
    logging_interval: timedelta = timedelta(seconds=10),
) -> None:  # fmt: skip
    """Wait, by a store alone, until so many processes have called this."""
    key = f"store_based_barrier_key:{group_name}"
    done = f"{key}:last_worker"
    if store.add(key, 1) == rendezvous_count:
        store.set(done, "1")
    try:
        store.wait([done], timeout)
    except RuntimeError:
        raise DistStoreError(
            f"Timed out after {timeout} waiting for store-based barrier on rank {rank}, for key: {key} "
            f"(world_size={rendezvous_count}, num_workers_joined={store.add(key, 0)}, timeout={timeout} error=)"
        ) from None


def _late(word: str, missing: Sequence[int], seconds: float) -> str:
    return f"[Rank 0]: {word} {', '.join(map(str, missing))} failed to pass monitoredBarrier in {seconds * 1000:.0f} ms"


def _out_of_time(here: Sequence[int], seconds: float) -> str:
    """That time is over when this rank, and perhaps others, have come."""
    mine, *others = map(str, here)
    none = "No ranks successfully processed in monitoredBarrier."
    came = f"Successfully processed ranks: {', '.join(others)}" if others else none
    return f"Rank {mine} timed out in monitoredBarrier after {seconds * 1000:.0f} ms.\n{came}"


def _tell(pg: ProcessGroup, other: int, seconds: float) -> None:
    work = Work("send", [], seconds)
    pg._main.send(np.zeros(1, np.uint8), other, _BARRIER, lambda error, _: work._finish(error))
    work.wait()


def _await(pg: ProcessGroup, other: int, seconds: float) -> None:
    work = Work("recv", [], seconds)
    pg._main.receive(np.zeros(1, np.uint8), other, _BARRIER, lambda error, _: work._finish(error))
    try:
        work.wait()
    except DistBackendError as error:
        raise RuntimeError(str(error)) from None
