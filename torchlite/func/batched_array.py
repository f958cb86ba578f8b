"""What tensors of a running `vmap` are made of."""

from __future__ import annotations

from ..core.machine import Tensor
from ..core.structs import BatchedParts, know, whole
from ..operations.shapes.shape import unsqueeze
from .transform import Lifted


@whole
class Batched(BatchedParts, Lifted):
    """A tensor, and which of its dimensions is the batch."""

    __slots__ = ()

    def __init__(self, inside: Tensor, dim: int) -> None:
        self.main = inside
        self.dim = dim
        shape = inside._array.shape
        self.shape = (*shape[:dim], *shape[dim + 1 :])

    @property
    def mark(self) -> int:
        return self.dim

    def over(self, inside: Tensor) -> Batched:
        """The same of another tensor."""
        return Batched(inside, self.dim)

    @property
    def steps(self) -> tuple[int, ...]:  # type: ignore[override]
        steps = self.main.stride()
        return (*steps[: self.dim], *steps[self.dim + 1 :])

    def front(self, ndim: int = 0) -> Tensor:
        """The tensor inside, its batch in front, and after that dimensions of size one to make up for `ndim`."""
        t = self.main if self.dim == 0 else self.main.movedim(self.dim, 0)
        for _ in range(ndim - len(self.shape)):
            t = unsqueeze.apply(t, 1)
        return t


know(Batched=Batched)
