"""`sparse_mask`: the values of one tensor at the places of another."""

from __future__ import annotations

from ..backends.sparse import coo, like
from ..core.declare import describe, publish
from ..core.machine import Tensor
from ..core.values import missing_kernel_of
from ._compressed import as_coo, values_there
from ._coo import at_places, coalesced, matched, places
from ._family import OfTensors, is_compressed, is_coo, is_sparse


def check_mask(self: Tensor, mask: Tensor) -> None:
    """Refuse a mask of another size."""
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )


def masked(self: Tensor, mask: Tensor) -> Tensor:
    check_mask(self, mask)
    array = mask._array
    if is_compressed(mask):
        return like(mask, array.with_values(values_there(self.to_dense(), array)))
    if is_sparse(self):
        self = self if is_coo(self) else as_coo(self)
        if not array.coalesced and not self._array.coalesced:  # then the values of this one stay apart
            return self * like(mask, array.with_values(array.values.new_ones(array.values.shape))).coalesce().bool()
        values = matched(coalesced(self._array), places(array))
    else:
        values = at_places(self, array.indices).contiguous()
    return coo(array.indices, values, mask.shape, array.coalesced)


def _refuse_dense(self: Tensor, mask: Tensor) -> None:
    if is_sparse(mask):
        return
    if is_compressed(self):
        raise RuntimeError(
            "sparse_mask_sparse_compressed expects mask to have sparse compressed layout, got Strided"
        )
    raise missing_kernel_of("_nnz" if is_coo(self) else "sparse_mask", mask._backend.real)


def at_places_of(g: Tensor, mask: Tensor) -> Tensor:
    """A gradient at the places where a tensor has values, each once."""
    return g.sparse_mask(mask.coalesce() if is_coo(mask) else mask)


def _of_masked(g: Tensor, self: Tensor, mask: Tensor) -> Tensor:
    made = g.sparse_mask(mask) if g.layout is not mask.layout else g
    return made if is_sparse(self) else made.to_dense()


sparse_mask = OfTensors(
    "sparse_mask(Tensor self, Tensor mask)", masked, {"self": _of_masked, "mask": None}, check=_refuse_dense,
    linear=True,
)  # fmt: skip
publish(sparse_mask, function=False)
describe(sparse_mask="The values of the tensor at the places of `mask`.")
