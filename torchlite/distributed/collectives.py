"""What all processes of a group do together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from typing_extensions import deprecated

from ..core.machine import Tensor
from ..core.state import Holding
from ..core.values import strided
from ..core.values.device import device
from ..futures import Future
from .call import Call, averaged, multiplied, split, split_by
from .checks import (
    check_exchanged,
    check_gathered,
    check_gathered_lists,
    check_given_by_root,
    check_list,
    check_same_dtype,
    check_scattered,
    check_tensor,
    check_tensors,
    root_of,
)
from .process_group import Group, ProcessGroup
from .reduction import ReduceOp, Reduction, reduction_of
from .registered import handed
from .sparse_reduction import all_reduce_sparse
from .work import Work
from .world import _member, get_global_rank

__all__ = [
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather", "reduce",
    "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
]  # fmt: skip


# ---- reductions


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all processes to one, which all get in place of theirs."""
    check_tensor(tensor, "tensor")
    pg = _member(group, "all_reduce")
    return None if pg is None else _all_reduce(pg, [tensor], op, async_op)


def _all_reduce_coalesced(
    tensors: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Future | None:
    """Reduce several tensors of all processes."""
    if isinstance(tensors, Tensor):
        tensors = [tensors]
    check_tensors(tensors, "tensor")
    check_same_dtype(*tensors)
    pg = _member(group, "all_reduce_coalesced")
    work = None if pg is None else _all_reduce(pg, tensors, op, async_op, "all_reduce_coalesced")
    return None if work is None else work.get_future()


def _all_reduce(
    pg: ProcessGroup, tensors: Sequence[Tensor], op: Any, async_op: bool, name: str = "all_reduce"
) -> Work | None:
    if pg._registered:
        return handed(pg, name, async_op, tensors, reduceOp=op)
    call = pg._call(name, tensors)
    if any(tensor.layout is not strided for tensor in tensors):
        return _all_reduce_sparse(pg, call, op, async_op)
    wanted = [(call.fill(tensor), reduction_of(op, tensor.dtype)) for tensor in tensors]

    def task() -> None:
        for array, reduction in wanted:
            call.engine.all_reduce(multiplied(array, reduction, own=True), reduction)
            averaged(array, reduction, pg.size())

    return pg._do(call, task, async_op, call.results if name == "all_reduce" else ())


def _all_reduce_sparse(pg: ProcessGroup, call: Call, op: Any, async_op: bool) -> Work | None:
    if op != ReduceOp.SUM:
        raise RuntimeError(
            "ProcessGroupGloo::allreduce: unsupported reduction operation (allreduce of sparse tensors only works with "
            "ReduceOp.SUM)"
        )

    def task() -> None:
        for tensor in call.results:
            all_reduce_sparse(call.engine, tensor)

    call.name = "sparse_all_reduce"
    return pg._do(call, task, async_op)


def reduce(
    tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Reduce the tensors of all processes to one, which one process gets in place of its own."""
    check_tensor(tensor, "tensor")
    pg = _member(group, "reduce")
    if pg is None:
        return None
    root = root_of(pg, dst, group_dst, "reduce")
    if pg._registered:
        return handed(pg, "reduce", async_op, [tensor], reduceOp=op, rootRank=root)
    call = pg._call("reduce", [tensor])
    reduction, mine = reduction_of(op, tensor.dtype), root == pg.rank()
    array = call.fill(tensor) if mine else call.read(tensor)

    def task() -> None:
        call.engine.reduce(multiplied(array, reduction, own=mine), reduction, root)
        if mine:
            averaged(array, reduction, pg.size())

    return pg._do(call, task, async_op)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Reduce a list of tensors, one for each process, which gets what that one comes to."""
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    pg = _member(group, "reduce_scatter")
    if pg is None:
        return None
    if pg._registered:
        check_same_dtype(*input_list, output)
        return handed(pg, "reduce_scatter", async_op, [output], [input_list], reduceOp=op)
    check_list("reduce_scatter", "input", input_list, output, pg.size())
    call = pg._call("reduce_scatter", [output], input_list)
    pieces = [call.read(tensor) for tensor in input_list]
    return _reduce_scatter(pg, call, output, pieces, reduction_of(op, output.dtype), async_op)


def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor, of which each process gets a part."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    pg = _member(group, "reduce_scatter_single")
    if pg is None:
        return None
    if pg._registered:
        check_same_dtype(input, output)
        return handed(pg, "reduce_scatter_tensor", async_op, output, input, reduceOp=op)
    check_scattered(output, input, pg)
    call = pg._call("reduce_scatter_tensor", [output], [input])
    pieces = split(call.read(input), pg.size())
    return _reduce_scatter(pg, call, output, pieces, reduction_of(op, output.dtype), async_op, [output, input])


def _reduce_scatter(
    pg: ProcessGroup, call: Call, output: Tensor, pieces: Sequence[Any], reduction: Reduction, async_op: bool,
    shown: Sequence[Tensor] | None = None,
) -> Work | None:  # fmt: skip
    out = call.fill(output)

    def task() -> None:
        call.engine.reduce_scatter(out, [multiplied(piece, reduction, own=False) for piece in pieces], reduction)
        averaged(out, reduction, pg.size())

    return pg._do(call, task, async_op, shown)


# ---- one to all, all to one, all to all


def broadcast(
    tensor: Tensor, src: int | None = None, group: Group = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give the tensor of one process to all, in place of theirs."""
    check_tensor(tensor, "tensor")
    pg = _member(group, "broadcast")
    if pg is None:
        return None
    root = root_of(pg, src, group_src, "broadcast")
    if pg._registered:
        return handed(pg, "broadcast", async_op, [tensor], rootRank=root)
    call = pg._call("broadcast", [tensor])
    array = call.read(tensor) if root == pg.rank() else call.fill(tensor)
    return pg._do(call, lambda: call.engine.broadcast(array, root), async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Give the tensors of all processes to all, as a list."""
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    pg = _member(group, "all_gather")
    if pg is None:
        return None
    if pg._registered:
        check_same_dtype(*tensor_list, tensor)
        return handed(pg, "all_gather", async_op, [tensor_list], [tensor])
    check_list("allgather", "output", tensor_list, tensor, pg.size())
    call = pg._call("all_gather", tensor_list, [tensor])
    outs, array = [call.fill(each) for each in tensor_list], call.read(tensor)
    return pg._do(call, lambda: call.engine.all_gather(outs, array), async_op, [tensor])


def _all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]], input_tensor_list: Sequence[Tensor], group: Group = None,
    async_op: bool = False,
) -> Future | None:  # fmt: skip
    """Give several tensors of all processes to all: a list of them for each process."""
    check_tensors(input_tensor_list, "tensor_list")
    check_same_dtype(*input_tensor_list)
    for each in output_tensor_lists:
        check_tensors(each, "output_tensor_lists")
        check_same_dtype(*each)
    pg = _member(group, "all_gather_coalesced")
    if pg is None:
        return None
    if pg._registered:
        work = handed(pg, "all_gather_coalesced", async_op, output_tensor_lists, input_tensor_list)
        return None if work is None else work.get_future()
    check_gathered_lists(output_tensor_lists, input_tensor_list, pg)
    call = pg._call("all_gather_coalesced", [t for each in output_tensor_lists for t in each], input_tensor_list)
    wanted = [
        ([call.fill(each[number]) for each in output_tensor_lists], call.read(tensor))
        for number, tensor in enumerate(input_tensor_list)
    ]

    def task() -> None:
        for outs, array in wanted:
            call.engine.all_gather(outs, array)

    begun = pg._do(call, task, async_op, ())
    return None if begun is None else begun.get_future()


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Give the tensors of all processes to all, one behind the other in one tensor."""
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    pg = _member(group, "all_gather_single")
    if pg is None:
        return None
    if pg._registered:
        check_same_dtype(output_tensor, input_tensor)
        return handed(pg, "all_gather_into_tensor", async_op, output_tensor, input_tensor)
    check_gathered(output_tensor, input_tensor, pg)
    call = pg._call("all_gather_into_tensor", [output_tensor], [input_tensor])
    outs, array = split(call.fill(output_tensor), pg.size()), call.read(input_tensor)
    return pg._do(call, lambda: call.engine.all_gather(outs, array), async_op, [input_tensor])


def gather(
    tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int | None = None, group: Group = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Give the tensors of all processes to one, as a list."""
    check_tensor(tensor, "tensor")
    if gather_list:
        check_tensors(gather_list, "gather_list")
    pg = _member(group, "gather")
    if pg is None:
        return None
    root = root_of(pg, 0 if dst is None and group_dst is None else dst, group_dst, "gather")
    check_given_by_root(gather_list, "gather_list", "destination", root == pg.rank())
    if pg._registered:
        check_same_dtype(*gather_list or (), tensor)
        return handed(pg, "gather", async_op, [gather_list] if gather_list else [], [tensor], rootRank=root)
    if gather_list:
        check_list("gather", "output", gather_list, tensor, pg.size())
    call = pg._call("gather", gather_list or [], [tensor])
    outs, array = [call.fill(each) for each in gather_list or ()], call.read(tensor)
    return pg._do(call, lambda: call.engine.gather(outs or None, array, root), async_op, [tensor])


def scatter(
    tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int | None = None, group: Group = None,
    async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Give each process one of the tensors that one has."""
    check_tensor(tensor, "tensor")
    if scatter_list:
        check_tensors(scatter_list, "scatter_list")
    pg = _member(group, "scatter")
    if pg is None:
        return None
    root = root_of(pg, 0 if src is None and group_src is None else src, group_src, "scatter")
    check_given_by_root(scatter_list, "scatter_list", "source", root == pg.rank())
    if pg._registered:
        check_same_dtype(*scatter_list or (), tensor)
        return handed(pg, "scatter", async_op, [tensor], [scatter_list] if scatter_list else [], rootRank=root)
    if scatter_list:
        check_list("scatter", "input", scatter_list, tensor, pg.size())
    call = pg._call("scatter", [tensor], scatter_list or ())
    pieces, array = [call.read(each) for each in scatter_list or ()], call.fill(tensor)
    return pg._do(call, lambda: call.engine.scatter(array, pieces or None, root), async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Group = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Give each process one of a list of tensors, and get one from each."""
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    pg = _member(group, "all_to_all")
    if pg is None:
        return None
    if pg._registered:
        check_same_dtype(*output_tensor_list, *input_tensor_list)
        return handed(pg, "all_to_all", async_op, output_tensor_list, input_tensor_list)
    check_exchanged(output_tensor_list, input_tensor_list, pg)
    call = pg._call("all_to_all", output_tensor_list, input_tensor_list)
    outs, pieces = [call.fill(t) for t in output_tensor_list], [call.read(t) for t in input_tensor_list]
    return pg._do(call, lambda: call.engine.all_to_all(outs, pieces), async_op, ())


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: Group = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Give each process some rows of a tensor, and get some from each; as many to all, unless sizes are given."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_same_dtype(output, input)
    pg = _member(group, "all_to_all_single")
    if pg is None:
        return None
    if pg._registered:
        sizes = output_split_sizes or [], input_split_sizes or []
        return handed(pg, "all_to_all_single", async_op, output, input, *sizes)
    call = pg._call("all_to_all_single", [output], [input])
    outs = _rows(call.fill(output), output, output_split_sizes, pg.size())
    pieces = _rows(call.read(input), input, input_split_sizes, pg.size())
    return pg._do(call, lambda: call.engine.all_to_all(outs, pieces), async_op, ())


def _rows(array: Any, tensor: Tensor, sizes: Sequence[int] | None, count: int) -> list[Any]:
    rows = tensor.shape[0] if tensor.dim() else 1
    if not sizes:
        if rows % count:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [rows // count] * count
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != rows:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return split_by(array, array.size // max(rows, 1), sizes)


def barrier(
    group: Group = None, async_op: bool = False, device_ids: Sequence[int] | None = None,
    timeout: timedelta | None = None,
) -> Work | None:  # fmt: skip
    """Wait until all processes have called this."""
    pg = _member(group, "barrier")
    if pg is None:
        return None
    if pg._registered:
        limit = {} if timeout is None else {"timeout": timeout}
        return handed(pg, "barrier", async_op, device_ids=list(device_ids or ()), device=device("cpu"), **limit)
    call = pg._call("barrier", [])
    task = call.engine.barrier if timeout is None else lambda: _within(call.engine, timeout)
    return pg._do(call, task, async_op)


def _within(engine: Any, timeout: timedelta) -> None:
    with Holding(engine, timeout=timeout.total_seconds()):
        engine.barrier()


# ---- names that PyTorch advises against


def _advised_against(name: str, by: Callable[..., Any], advice: str) -> Callable[..., Any]:
    """Another name of a collective, which says at each call that it is on its way out."""

    @functools.wraps(by)
    def function(*args: Any, **kwargs: Any) -> Any:
        return by(*args, **kwargs)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    return deprecated(f"`torch.distributed.{name}` {advice}", category=FutureWarning)(function)


def _older(name: str, by: Callable[..., Any], why: str = "is deprecated") -> Callable[..., Any]:
    return _advised_against(name, by, f"{why}. Please use `torch.distributed.{by.__name__}` instead.")


_PRIVATE = "is a private function and will be deprecated"
_REVISIT = (
    "will be deprecated. If you must use it, please revisit our documentation later at "
    "https://pytorch.org/docs/main/distributed.html#collective-functions"
)
all_gather_into_tensor = _older("all_gather_into_tensor", all_gather_single)
reduce_scatter_tensor = _older("reduce_scatter_tensor", reduce_scatter_single)
_all_gather_base = _older("_all_gather_base", all_gather_single, _PRIVATE)
_reduce_scatter_base = _older("_reduce_scatter_base", reduce_scatter_single, _PRIVATE)
all_reduce_coalesced = _advised_against("all_reduce_coalesced", _all_reduce_coalesced, _REVISIT)
all_gather_coalesced = _advised_against("all_gather_coalesced", _all_gather_coalesced, _REVISIT)
_get_global_rank = _advised_against(
    "distributed_c10d._get_global_rank", get_global_rank,
    "is deprecated, please use `torch.distributed.distributed_c10d.get_global_rank` instead",
)  # fmt: skip
