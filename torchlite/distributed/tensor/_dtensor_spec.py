"""What a tensor over a mesh is described by, and what each process has of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...core.values import reduce_ex, shown_in
from ..device_mesh import DeviceMesh
from .placement_types import Placement, Shard

__all__ = ["DTensorSpec", "TensorMeta", "compute_local_shape_and_global_offset"]


@shown_in("torch.distributed.tensor._dtensor_spec")
class TensorMeta(NamedTuple):
    """The form of the whole tensor."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


@shown_in("torch.distributed.tensor._dtensor_spec")
@dataclass(frozen=True)
class DTensorSpec:
    """The mesh, how the tensor lies along each of its dimensions, and the form of the whole."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta

    @property
    def shape(self) -> Any:
        """The shape of the whole."""
        return self.tensor_meta.shape

    @property
    def ndim(self) -> int:
        """How many dimensions the tensor has."""
        return len(self.tensor_meta.shape)

    def is_replicated(self) -> bool:
        """Whether each process has all of the tensor."""
        return all(placement.is_replicate() for placement in self.placements)

    def local_shape(self) -> tuple[int, ...]:
        """The shape of what this process has."""
        return compute_local_shape_and_global_offset(self.shape, self.mesh, self.placements)[0]


DTensorSpec.__reduce_ex__ = reduce_ex  # type: ignore[method-assign]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of what this process has of a tensor, and where in the whole that begins."""
    sizes, offsets = list(global_shape), [0] * len(global_shape)
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return (0,), ()
    for count, at, placement in zip(mesh.shape, coordinate, placements):
        if isinstance(placement, Shard):
            start, stop = placement.span(sizes[placement.dim], count, at)
            offsets[placement.dim] += start
            sizes[placement.dim] = stop - start
    return tuple(sizes), tuple(offsets)
