"""Collectives that give their results, and through which gradients flow back to the processes they came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import deprecated

from ...autograd.function import Function
from ...core.machine import Tensor, functions
from ...core.values import leaving
from ...distributed.process_group import Group
from .. import collectives as plain
from ..reduction import ReduceOp
from ..world import get_rank, get_world_size, group

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "group", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip


def _is(rank: int) -> bool:
    return get_rank() == rank


def _blank(like: Tensor, among: Any) -> list[Tensor]:
    return [like.new_zeros(like.shape) for _ in range(get_world_size(among))]


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, among: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.among = src, among
        result = tensor.clone()
        plain.broadcast(result, src, among)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        own = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.among, grad)
        return None, None, own if _is(ctx.src) else own * 0


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, among: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.among = dst, among
        result = tensor.clone()
        plain.reduce(result, dst, op, among)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.among, grad)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, among: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.among = op, among
        result = tensor.clone()
        plain.all_reduce(result, op, among)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, _AllReduce.apply(ctx.op, ctx.among, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, among: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.dst, ctx.among = dst, among
        results = _blank(tensor, among)
        plain.gather(tensor, results if _is(dst) else None, dst, among)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, None, _Scatter.apply(ctx.dst, ctx.among, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, among: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.among = src, among
        result = tensors[0].new_zeros(tensors[0].shape)
        plain.scatter(result, list(tensors) if _is(src) else None, src, among)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, *_Gather.apply(ctx.src, ctx.among, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, among: Any, shapes: Sequence[Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.among, ctx.shapes = among, [tensor.shape for tensor in tensors]
        results = [tensors[0].new_empty(shape) for shape in shapes]
        plain.all_to_all(results, list(tensors), among)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, None, *_AllToAll.apply(ctx.among, ctx.shapes, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, among: Any, shape: Any, gets: Any, gives: Any, tensor: Tensor) -> Tensor:
        ctx.among, ctx.shape, ctx.gets, ctx.gives = among, tensor.shape, gets, gives
        result = tensor.new_empty(shape)
        plain.all_to_all_single(result, tensor, gets, gives, among)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, None, None, _AllToAllSingle.apply(ctx.among, ctx.shape, ctx.gives, ctx.gets, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, among: Any, *tensors: Tensor) -> Tensor:
        ctx.among = among
        result = tensors[0].new_empty(tensors[0].shape)
        plain.reduce_scatter(result, list(tensors), op, among)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, *_AllGather.apply(ctx.among, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, among: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.among = among
        results = _blank(tensor, among)
        plain.all_gather(results, tensor, among)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.among, *grads)


def _moved_to(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say at each call that the functional collectives have a function for it."""

    return lambda function: leaving(
        function,
        f"torch.distributed.nn.functional.{function.__name__} is deprecated, use "
        f"torch.distributed._functional_collectives.{name} instead.",
    )


@_moved_to("broadcast")
def broadcast(tensor: Tensor, src: int, group: Group = None) -> Tensor:
    """What `src` has; its gradient there is the sum of all processes'."""
    return _Broadcast.apply(src, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all processes, at `dst`; zeros elsewhere."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Group = None) -> Tensor:
    """One of the tensors that `src` has."""
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Group = None) -> Tensor:
    """What the tensors of all processes come to, at `dst`; elsewhere the own one."""
    return _Reduce.apply(dst, op, group, tensor)


@_moved_to("reduce_scatter_single")
def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Group = None) -> Tensor:
    """What the tensors for this process in the lists of all come to; `output` says how large it is."""
    return _ReduceScatter.apply(op, group, *input_list)


@_moved_to("all_gather_single")
def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all processes."""
    return _AllGather.apply(group, tensor)


@deprecated(
    "`torch.distributed._all_gather_base` is a private function and will be deprecated. Please use "
    "`torch.distributed.all_gather_single` instead.",
    category=FutureWarning,
)
def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: Group = None) -> Tensor:
    """The tensors of all processes, one behind the other."""
    return functions["cat"](list(_AllGather.apply(group, input_tensor))).reshape(output_tensor.shape)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Group = None
) -> tuple[Tensor, ...]:
    """One tensor from each process; the first list says how large they are."""
    return _AllToAll.apply(group, [tensor.shape for tensor in output_tensor_list], *input_tensor_list)


@_moved_to("all_to_all_single")
def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: Group = None,
) -> Tensor:  # fmt: skip
    """Some rows from each process; `output` says how large the result is."""
    return _AllToAllSingle.apply(group, output.shape, output_split_sizes, input_split_sizes, input)


@_moved_to("all_reduce")
def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Group = None) -> Tensor:
    """What the tensors of all processes come to."""
    return _AllReduce.apply(op, group, tensor)
