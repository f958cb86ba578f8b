"""How a tensor lies along one dimension of a mesh."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.values import bear_name, reduce_ex

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies along one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a piece, along this dimension of the tensor if one is named."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process has a part of every element."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a piece of the dimension `dim`, as `chunk` cuts it."""

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"

    @staticmethod
    def span(size: int, count: int, at: int) -> tuple[int, int]:
        """Where the piece number `at` of `count` begins and ends."""
        step = -(-size // count)
        return min(at * step, size), min((at + 1) * step, size)


@dataclass(frozen=True, repr=False)
class _StridedShard(Shard):
    """Pieces that were cut twice, the second time the first."""

    split_factor: int = 1

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has all of the tensor."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """The tensor is what `reduce_op` makes of what the processes have."""

    reduce_op: str = "sum"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


@dataclass(frozen=True, repr=False)
class _NormPartial(Partial):
    """The tensor is the norm of what the processes have: their norms' powers add up."""

    reduce_op: str = "sum"
    norm_type: float = 2.0

    def __str__(self) -> str:
        return f"_NormP({self.reduce_op}, {self.norm_type:g})"

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type:g})"


for _cls in (Placement, Shard, Replicate, Partial, _StridedShard, _NormPartial):
    home = "_ops._math_ops" if _cls is _NormPartial else "placement_types"
    bear_name(_cls, f"torch.distributed.tensor.{home}")
    _cls.__reduce_ex__ = reduce_ex  # type: ignore[method-assign]
