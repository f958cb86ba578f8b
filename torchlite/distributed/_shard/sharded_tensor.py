"""Tensors of which each process has a piece."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...absent import placeholders
from ...core.machine import Tensor, functions
from ...core.values import shown_in
from ...distributed.process_group import Group
from ..collectives import all_gather
from ..world import _get_default_group

globals().update(placeholders("torch.distributed._shard.sharded_tensor", "ShardedTensorMetadata TensorProperties"))
__all__ = ["Shard", "ShardMetadata", "ShardedTensor"]


class ShardMetadata(NamedTuple):
    """Where in the whole tensor a piece lies."""

    shard_offsets: list[int]
    shard_sizes: list[int]
    placement: str = ""


@shown_in("torch.distributed._shard.sharded_tensor")
class Shard(NamedTuple):
    """A piece that is here, and where in the whole it lies."""

    tensor: Tensor
    metadata: ShardMetadata


@shown_in("torch.distributed._shard.sharded_tensor")
class ShardedTensor:
    """A tensor cut along its first dimension; process n has the n-th piece, if there are so many."""

    def __init__(self, local_shards: list[Shard], size: Any, process_group: Group = None, dtype: Any = None) -> None:
        self.dtype = local_shards[0].tensor.dtype if local_shards else dtype
        self._shards, self._size = list(local_shards), functions["empty"](tuple(size), device="meta").shape
        self._group = process_group or _get_default_group()

    @classmethod
    def chunk_of(cls, whole: Tensor, process_group: Group = None) -> ShardedTensor:
        """This process's piece of a tensor."""
        group = process_group or _get_default_group()
        rows, start, stop = _rows(whole.shape, group)
        if not rows:
            whole_here = [Shard(whole.clone(), ShardMetadata([], []))] if group.rank() == 0 else []
            return cls(whole_here, whole.shape, group, whole.dtype)
        if start == stop:
            return cls([], whole.shape, group, whole.dtype)
        rest = list(whole.shape[1:])
        metadata = ShardMetadata([start, *[0] * len(rest)], [stop - start, *rest], f"rank:{group.rank()}")
        return cls([Shard(whole[start:stop].clone(), metadata)], whole.shape, group)

    def local_shards(self) -> list[Shard]:
        """The pieces that are here."""
        return self._shards

    def local_tensor(self) -> Tensor:
        """The one piece that is here."""
        if len(self._shards) != 1:
            raise NotImplementedError("Only single local shard is supported.")
        return self._shards[0].tensor

    def size(self, dim: int | None = None) -> Any:
        """The size of the whole."""
        return self._size if dim is None else self._size[dim]

    @property
    def shape(self) -> Any:
        """The size of the whole."""
        return self._size

    def full(self) -> Tensor:
        """The whole tensor; all processes call this."""
        rows, start, stop = _rows(self._size, self._group)
        rest = tuple(self._size[1:])
        like = self._shards[0].tensor if self._shards else functions["zeros"](0, dtype=self.dtype)
        mine = like.new_zeros((rows or 1, *rest))
        if self._shards:
            mine[: max(stop - start, 1)] = self._shards[0].tensor
        pieces = [mine.clone() for _ in range(self._group.size())]
        all_gather(pieces, mine, group=self._group)
        return functions["cat"](pieces)[: self._size[0]] if rows else pieces[0][0]

    def __repr__(self) -> str:
        return f"ShardedTensor({self._shards}, size={tuple(self._size)})"


def _rows(size: Any, group: Any) -> tuple[int, int, int]:
    """How many rows a piece has at most, and which are here; none of a tensor without dimensions."""
    if not size:
        return 0, 0, 0
    rows = -(-size[0] // group.size())
    return rows, min(rows * group.rank(), size[0]), min(rows * (group.rank() + 1), size[0])
