"""Bringing what processes have of a tensor from one placement to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.machine import Tensor, functions
from ..collectives import all_gather_single, all_reduce, reduce_scatter_single
from ..device_mesh import DeviceMesh
from ..reduction import ReduceOp
from ._dtensor_spec import DTensorSpec, compute_local_shape_and_global_offset
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial

__all__ = ["redistributed"]

_OPS = {name: getattr(ReduceOp, name.upper()) for name in ("sum", "avg", "min", "max", "product")}
_ADDED = ("sum", "avg")


def redistributed(local: Tensor, spec: DTensorSpec, wanted: Sequence[Placement]) -> Tensor:
    """What this process has of a tensor when it is placed otherwise. All processes of the mesh call this."""
    now, mesh = list(spec.placements), spec.mesh
    moved = _moved(now, wanted)
    if len(moved) == 1 and isinstance(now[moved[0]], Partial) and isinstance(wanted[moved[0]], Shard):
        shard = _scattered(local, now, wanted[moved[0]], spec, moved[0])
        if shard is not None:
            return shard
    for dim in moved[::-1]:
        local, now[dim] = _whole(local, now, spec, dim), Replicate()
    for dim in moved:
        local, now[dim] = _part(local, wanted[dim], mesh, dim), wanted[dim]
    return local


def _moved(now: Sequence[Placement], wanted: Sequence[Placement]) -> list[int]:
    """The mesh's dimensions in which something changes; pieces of pieces change with what they are pieces of."""
    moved: list[int] = []
    for dim, (have, want) in enumerate(zip(now, wanted, strict=True)):
        cut = {each.dim for at in moved for each in (now[at], wanted[at]) if isinstance(each, Shard)}
        if have != want or (isinstance(have, Shard) and have.dim in cut):
            moved.append(dim)
    return moved


def _level(spec: DTensorSpec, placements: Sequence[Placement], dim: int) -> list[int]:
    """The shape of what those who differ in a dimension of the mesh have together."""
    return list(compute_local_shape_and_global_offset(spec.shape, spec.mesh, placements[:dim])[0])


def _padded(piece: Tensor, dim: int, rows: int) -> Tensor:
    """A piece made as long as the longest."""
    if piece.shape[dim] == rows:
        return piece.contiguous()
    sizes = list(piece.shape)
    sizes[dim] = rows - sizes[dim]
    return functions["cat"]([piece, piece.new_zeros(sizes)], dim)


def _whole(local: Tensor, placements: Sequence[Placement], spec: DTensorSpec, mesh_dim: int) -> Tensor:
    """What all who differ in a dimension of the mesh come to have."""
    placement, group = placements[mesh_dim], spec.mesh.get_group(mesh_dim)
    if isinstance(placement, _NormPartial):
        power = local**placement.norm_type
        all_reduce(power, group=group)
        return power ** (1.0 / placement.norm_type)
    if isinstance(placement, Partial):
        reduced = local.clone().contiguous()
        all_reduce(reduced, _OPS[placement.reduce_op], group=group)
        return reduced
    if not isinstance(placement, Shard):
        return local
    dim, count = placement.dim, group.size()
    size = _level(spec, placements, mesh_dim)[dim]
    rows = -(-size // count)
    piece = _padded(local, dim, rows)
    gathered = piece.new_empty((count, *piece.shape))
    all_gather_single(gathered, piece, group=group)
    shape = list(piece.shape)
    shape[dim] = rows * count
    return gathered.movedim(0, dim).reshape(shape).narrow(dim, 0, size).contiguous()


def _part(local: Tensor, placement: Placement, mesh: DeviceMesh, mesh_dim: int) -> Tensor:
    """What this process keeps of what all have."""
    at, count = mesh.get_local_rank(mesh_dim), mesh.size(mesh_dim)
    if isinstance(placement, Shard):
        start, stop = placement.span(local.shape[placement.dim], count, at)
        return local.narrow(placement.dim, start, stop - start).contiguous()
    if isinstance(placement, Partial) and placement.reduce_op == "sum" and at:
        return local.new_zeros(local.shape)
    return local


def _scattered(local: Tensor, now: Sequence[Placement], shard: Any, spec: DTensorSpec, mesh_dim: int) -> Tensor | None:
    """This process's piece of a sum, without the sum of the others' pieces."""
    dim, partial, group = shard.dim, now[mesh_dim], spec.mesh.get_group(mesh_dim)
    if isinstance(partial, _NormPartial) or partial.reduce_op not in _ADDED:  # type: ignore[attr-defined]
        return None
    size, count = local.shape[dim], group.size()
    rows = -(-size // count)
    pieces = _padded(local, dim, rows * count).movedim(dim, 0).contiguous()
    mine = pieces.new_empty((rows, *pieces.shape[1:]))
    reduce_scatter_single(mine, pieces, _OPS[partial.reduce_op], group=group)  # type: ignore[attr-defined]
    start, stop = shard.span(size, count, group.rank())
    return mine[: stop - start].movedim(0, dim).contiguous()
