"""Collectives that leave their arguments alone and give their results, under PyTorch's private names.

A group is a ProcessGroup or its name, a mesh of one dimension, a mesh and one of its dimensions, or a list of ranks.
Results are there when a function returns; `wait_tensor` has nothing left to wait for.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..absent import placeholder
from ..core.machine import Tensor, functions
from . import collectives as plain
from .device_mesh import DeviceMesh
from .nn import functional as differentiable
from .process_group import Group, ProcessGroup
from .reduction import ReduceOp
from .world import _resolve_process_group, _world, new_group

# Without the advice to call the functions of this module.
_all_reduce, _all_gather, _reduce_scatter, _all_to_all_single = map(
    inspect.unwrap,
    (
        differentiable.all_reduce, differentiable.all_gather, differentiable.reduce_scatter,
        differentiable.all_to_all_single,
    ),
)  # fmt: skip

AsyncCollectiveTensor = placeholder("torch.distributed._functional_collectives", "AsyncCollectiveTensor")


def _group(group: Any) -> ProcessGroup:
    if isinstance(group, str):
        return _resolve_process_group(group)
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, list):
        return _of_ranks(group)
    return group[0].get_group(group[1]) if isinstance(group, tuple) else group


def _of_ranks(ranks: list[int]) -> ProcessGroup:
    """The group of some processes, which is made if there is none."""
    known = next((group for group in _world.groups.values() if group._ranks == ranks), None)
    return known or new_group(ranks, use_local_synchronization=True)


def _op(name: str) -> Any:
    return getattr(ReduceOp, name.upper())


def wait_tensor(tensor: Tensor) -> Tensor:
    """A result, when it is there: at once."""
    return tensor


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """What one process has."""
    result = self.clone()
    plain.broadcast(result, group=_group(group), group_src=src)
    return result


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """What the tensors of all processes come to, by an operation named as "sum" is."""
    return _all_reduce(self, _op(reduceOp), _group(group))


def all_reduce_coalesced(self: Sequence[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """What several tensors of all processes come to."""
    return [all_reduce(tensor, reduceOp, group) for tensor in self]


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all processes, joined along a dimension."""
    return functions["cat"](list(_all_gather(self, _group(group))), gather_dim)


def all_gather_into_tensor_coalesced(self: Sequence[Tensor], group: Any, tag: str = "") -> list[Tensor]:
    """Several tensors of all processes, each joined along the first dimension."""
    return [all_gather_tensor(tensor, 0, group) for tensor in self]


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This process's part, along a dimension, of what the tensors of all come to."""
    pg = _group(group)
    if self.shape[scatter_dim] % pg.size():
        raise AssertionError(f"input dimension {scatter_dim} must be a multiple of group_size ({pg.size()})")
    pieces = [piece.contiguous() for piece in self.chunk(pg.size(), scatter_dim)]
    return _reduce_scatter(pieces[0], pieces, _op(reduceOp), pg)


def reduce_scatter_tensor_coalesced(
    inputs: Sequence[Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any, tag: str = ""
) -> list[Tensor]:
    """This process's parts of what several tensors of all come to."""
    pairs = zip(inputs, scatter_dim, strict=True)
    return [reduce_scatter_tensor(tensor, reduceOp, dim, group) for tensor, dim in pairs]


def all_to_all_single(
    self: Tensor, output_split_sizes: Sequence[int] | None, input_split_sizes: Sequence[int] | None, group: Any,
    tag: str = "",
) -> Tensor:  # fmt: skip
    """Some rows from each process."""
    rows = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    room = self.new_empty((rows, *self.shape[1:]))
    return _all_to_all_single(room, self, output_split_sizes, input_split_sizes, _group(group))


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> Tensor:
    """The tensor of the process whose number in `src_dst` is this one's."""
    pg = _group(group)
    gives, gets = [0] * pg.size(), [0] * pg.size()
    for source, to in enumerate(src_dst):
        if source == pg.rank():
            gives[to] = self.numel()
        if to == pg.rank():
            gets[source] = self.numel()
    return all_to_all_single(self.reshape(-1), gets, gives, pg).reshape(self.shape)


all_gather_single = all_gather_tensor
reduce_scatter_single = reduce_scatter_tensor
all_gather_tensor_autograd = all_gather_single_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_single_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single


def all_gather_inplace(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False, tag: str = ""
) -> Sequence[Tensor]:
    """The tensors of all processes, in those of a list."""
    plain.all_gather(tensor_list, tensor, group)
    return tensor_list
