"""From one layout to another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..backends.sparse import NAMES, Coo, compressed, coo, layout_name
from ..core.declare import Composite, describe, method, publish, publish_python
from ..core.machine import Tensor, refuse_rare
from ..core.values import strided, wrap_dim
from ..core.values.layout import COMPRESSED, layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..kernels import sparse as kernels
from ..operations.formulas import tensors
from ._compressed import as_coo, compressed_as_dense
from ._coo import at_places, coalesced, dense
from ._family import OfTensors, is_compressed, is_coo, is_sparse, tensor
from ._masks import at_places_of


def to_dense_of(t: Tensor) -> Tensor:
    """The dense tensor that a tensor of any layout stands for."""
    return dense(t._array) if is_coo(t) else compressed_as_dense(t) if is_compressed(t) else t


# ---- to coordinates


def _dense_as_coo(t: Tensor, sparse: int | None) -> Tensor:
    ndim = t.dim()
    sparse = ndim if sparse is None else sparse
    if not 0 <= sparse <= ndim:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but {sparse} is given")
    if ndim and not sparse:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    refuse_rare("nonzero", t.dtype, (t,))
    filled = t != 0
    if sparse < ndim:
        filled = filled.flatten(sparse).any(-1)
    indices = filled.nonzero().t().contiguous()
    return coo(indices, at_places(t, indices).contiguous(), t.shape, True)


def to_coo(t: Tensor, sparse: int | None) -> Tensor:
    """A tensor as coordinates."""
    if not is_sparse(t):
        return _dense_as_coo(t, sparse)
    own = t._array.sparse_dim if is_coo(t) else 2
    if sparse not in (None, own):
        name, known = ("to_sparse", "self.sparse_dim()") if is_coo(t) else ("sparse_compressed_to_sparse", 2)
        raise RuntimeError(
            f"{name}: conversion from {layout_name(t)} to Sparse with sparse_dim argument !={known} is not supported"
        )
    return t if is_coo(t) else as_coo(t)


# ---- to compressed layouts


def _compress(t: Tensor, laid: layout) -> Tensor:
    """A matrix of coordinates in compressed rows or columns; its dense dimensions may be blocks."""
    array: Coo = coalesced(t._array)
    backend, xp = array.values._backend.home, array.values._backend.home.xp
    (rows, columns), values = array.indices._array, array.values._array
    lines, plain, count = rows, columns, array.shape[0]
    if laid in (sparse_csc, sparse_bsc):
        order = columns.argsort(kind="stable")
        lines, plain, count, values = columns[order], rows[order], array.shape[1], values[order]
    starts = tensor(kernels.pointers(xp, lines, count), backend)
    return compressed(laid, starts, tensor(plain.copy(), backend), tensor(values.copy(), backend), array.shape)


def _in_blocks(t: Tensor, blocksize: Sequence[int]) -> Tensor:
    """A matrix of coordinates as a matrix of blocks, of which those are there that have values."""
    array: Coo = coalesced(t._array)
    backend, xp = array.values._backend.home, array.values._backend.home.xp
    (rows, columns), values = array.indices._array, array.values._array
    height, width = blocksize
    grid = (array.shape[0] // height, array.shape[1] // width)
    flat = rows // height * max(grid[1], 1) + columns // width
    there, which = xp.unique(flat, return_inverse=True)
    blocks = xp.zeros((there.size, height, width, *values.shape[1:]), values.dtype)
    blocks[which.reshape(-1), rows % height, columns % width] = values
    indices = tensor(kernels.unflattened(xp, there, grid), backend)
    return coo(indices, tensor(blocks, backend), (*grid, *blocks.shape[1:]), True)


def _check_blocks(name: str, shape: Sequence[int], blocksize: Sequence[int]) -> None:
    if len(blocksize) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}")
    if any(b <= 0 for b in blocksize):
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(blocksize)}")
    if any(n % b for n, b in zip(shape, blocksize)):
        size, block = [",".join(map(str, pair)) for pair in (shape, blocksize)]
        raise RuntimeError(f"{name}: tensor sparse size ({size}) must be divisible by given blocksize ({block})")


def _matrix(t: Tensor, laid: layout, blocksize: Any) -> Tensor:
    """A matrix of coordinates in a compressed layout."""
    if blocksize is None:
        return _compress(t, laid)
    made = _compress(_in_blocks(t, blocksize), laid)
    made._array.shape = t._array.shape
    return made


def _batches(t: Tensor, laid: layout, blocksize: Any, dense_dim: int) -> Tensor:
    """A dense tensor in a compressed layout, every matrix of a batch by itself."""
    batch = t.shape[: t.dim() - 2 - dense_dim]
    if not batch:
        return _matrix(_dense_as_coo(t, 2), laid, blocksize)
    if not math.prod(batch):
        raise RuntimeError(f"to_sparse_{_SHORT[laid]}: Expected product of batch dimensions to be non-zero.")
    made = [_matrix(_dense_as_coo(m, 2), laid, blocksize)._array for m in t.flatten(0, len(batch) - 1)]
    if len({m.nnz for m in made}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    parts: list[Any] = [tensors.stack(part) for part in zip(*[m.parts() for m in made])]
    return compressed(laid, *[p.reshape((*batch, *p.shape[1:])) for p in parts], t.shape)  # type: ignore[call-arg]


_SHORT = {sparse_csr: "csr", sparse_csc: "csc", sparse_bsr: "bsr", sparse_bsc: "bsc"}


def _check_blocked(t: Tensor, laid: layout, blocksize: Any) -> None:
    """Blocks stay as they are."""
    name = f"{'to_sparse' if laid is t.layout else 'sparse_compressed_to_sparse'}_{_SHORT[laid]}"
    if blocksize is None:
        raise RuntimeError(f"{name}: expected SparseCsr or SparseCsc layout but got {layout_name(t)}")
    if tuple(blocksize) != t._array.blocksize:
        raise RuntimeError(
            f"{name}: conversion from {layout_name(t)} to {NAMES[laid]} with blocksize changed from "
            f"{list(t._array.blocksize)} to {list(blocksize)} is not supported"
        )


def to_compressed(t: Tensor, laid: layout, blocksize: Any, dense_dim: int | None, said: str = "") -> Tensor:
    """A tensor of any layout in a compressed one; `said` is what is told to a dense one, if not what it becomes."""
    if laid is t.layout and blocksize in (None, tuple(getattr(t._array, "blocksize", ()))):
        return t
    if is_sparse(t):
        if dense_dim is not None and dense_dim != t._array.dense_dim:
            raise RuntimeError(
                f"to_sparse_{_SHORT[laid]}: conversion from {layout_name(t)} to {NAMES[laid]} with dense_dim argument "
                f"!=self.dense_dim() is not supported"
            )
        if is_compressed(t) and t._array.batch:
            return _batches(compressed_as_dense(t), laid, blocksize, t._array.dense_dim)
        if is_coo(t) and t._array.sparse_dim != 2:
            name = "sparse_coo_to_sparse" if said else f"coo_to_sparse_{_SHORT[laid]}"
            raise RuntimeError(
                f"{name}: conversion from Sparse to {NAMES[laid]} for input tensors with sparse_dim()!=2 is not "
                "supported"
            )
        if is_compressed(t) and t._array.blocked:
            _check_blocked(t, laid, blocksize)
        t = t if is_coo(t) else as_coo(t)
        if blocksize is not None:
            _check_blocks(f"sparse_to_sparse_{_SHORT[laid]}", t.shape, blocksize)
        return _matrix(t, laid, blocksize)
    dense_dim, name = dense_dim or 0, said or f"dense_to_sparse_{_SHORT[laid]}"
    if t.dim() < 2:
        raise IndexError(
            f"select(): index 1 out of range for tensor of size [{int(t.count_nonzero())}, 1] at dimension 1"
        )
    if blocksize is None and not 0 <= dense_dim <= t.dim() - 2:
        raise RuntimeError(
            f"{name}: dense_dim argument must be in [0,{t.dim() - 2}] range, but {dense_dim} is given"
        )
    if blocksize is not None:
        at = wrap_dim(-dense_dim - 2, t.dim())
        _check_blocks(name, t.shape[at : at + 2], blocksize)
    return _batches(t, laid, blocksize, dense_dim)


# ---- the ops


def in_layout_of(g: Tensor, self: Tensor) -> Tensor:
    """A gradient in the layout of the operand that it is for."""
    if not is_sparse(self):
        return g.to_dense()
    if is_coo(self):
        return g.to_sparse(self.sparse_dim()) if not is_sparse(g) else g.to_sparse()
    return g.to_sparse(layout=self.layout, blocksize=self._array.blocksize or None, dense_dim=self._array.dense_dim)


def _of_dense(g: Tensor, self: Tensor, masked_grad: bool | None) -> Tensor:
    if is_sparse(g) or not is_sparse(self):
        return g
    return in_layout_of(g, self) if masked_grad is False else at_places_of(g, self)


to_dense_op = OfTensors(
    "to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None)",
    lambda self, dtype, masked: to_dense_of(self), {"self": _of_dense}, linear=True, shows="masked_grad",
)  # fmt: skip


def to_dense(self: Tensor, dtype: Any, masked_grad: bool | None) -> Tensor:
    """This tensor as a dense one: itself, in a dtype if one is given, where it is not sparse."""
    if not is_sparse(self):
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return to_dense_op.apply(self, dtype, masked_grad)


for _name in ("to_dense", "_to_dense"):
    publish_python(to_dense_op.signature.text.replace("to_dense", _name), to_dense, function=False)


to_sparse_dim = OfTensors(
    "_to_sparse.sparse_dim(Tensor self, int sparse_dim)", to_coo, {"self": in_layout_of}, node="ToSparseBackward0",
    linear=True,
)  # fmt: skip
to_sparse_any = OfTensors(
    "_to_sparse(Tensor self, Layout? layout=None, int[]? blocksize=None, int? dense_dim=None)",
    lambda self, laid, block, dense_dim: (
        to_coo(self, None if dense_dim is None else self.dim() - dense_dim)
        if laid in (None, sparse_coo)
        else to_compressed(self, laid, block, dense_dim, "dense_to_sparse")
    ),
    {"self": in_layout_of}, node="ToSparseBackward1", linear=True,
)  # fmt: skip


def _blocks(laid: layout, blocksize: Any, name: str, t: Tensor) -> Any:
    """The shape of blocks, where the layout has some."""
    given = "with" if blocksize is not None else "without"
    if (laid in (sparse_bsr, sparse_bsc)) is (blocksize is None):
        raise RuntimeError(
            f"{name}: conversion from {layout_name(t)} to {NAMES[laid]} {given} blocksize argument given is not "
            "supported"
        )
    return blocksize


def to_sparse(self: Tensor, laid: layout | None, blocksize: Any, dense_dim: int | None) -> Tensor:
    """This tensor in a sparse layout."""
    laid = sparse_coo if laid is None else laid
    if laid is strided:
        return self.to_dense()
    name = "to_sparse" if is_sparse(self) else "dense_to_sparse"
    if laid is self.layout and laid not in (sparse_bsr, sparse_bsc):
        return self
    return to_sparse_any.apply(self, laid, _blocks(laid, blocksize, name, self), dense_dim)


publish(to_sparse_dim, to_sparse_any, function=False)
publish(
    Composite(
        "to_sparse.sparse_dim(Tensor self, int sparse_dim)",
        lambda self, sparse: to_coo(self, sparse) if is_coo(self) else to_sparse_dim.apply(self, sparse),
    ),
    Composite("to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None)", to_sparse),
    function=False,
)
describe(to_sparse="This tensor in a sparse layout: `layout`, or COO with so many sparse dimensions.")


@method("to_sparse_coo")
def to_sparse_coo(self: Tensor) -> Tensor:
    """A copy of layout `torch.sparse_coo`."""
    return to_sparse(self, None, None, None)


def _publish_to(laid: layout, blocks: str) -> None:
    name, short = NAMES[laid].removeprefix("Sparse"), f"to_sparse_{_SHORT[laid]}"
    op = OfTensors(
        f"_{short}(Tensor self, {blocks}int? dense_dim=None)",
        lambda self, *more: to_compressed(self, laid, more[0] if blocks else None, more[-1]), {"self": in_layout_of},
        node=f"ToSparse{name}Backward0", linear=True,
    )  # fmt: skip

    def call(self: Tensor, *more: Any) -> Tensor:
        block = _blocks(laid, more[0], short, self) if blocks else None
        if laid is self.layout and block in (None, self._array.blocksize):
            return self
        return op.apply(self, *((block,) if blocks else ()), more[-1])

    call.__doc__ = f"A copy of layout `{laid}`."
    publish(op, function=False)
    publish_python(op.signature.text.removeprefix("_"), call, function=False)


for _laid in COMPRESSED:
    _publish_to(_laid, "int[2] blocksize, " if _laid in (sparse_bsr, sparse_bsc) else "")


# ---- the parts of compressed tensors


def _publish_part(name: str, kind: str, layouts: Any, part: str) -> None:
    def read(self: Tensor) -> Tensor:
        if self.layout not in layouts:
            raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got {layout_name(self)}")
        found: Tensor = getattr(self._array, part)
        return found._alias()

    read.__doc__ = f"The {name} of a sparse tensor of {kind}s."
    method(name)(read)


for _kind, _layouts, _parts in (
    ("row", (sparse_csr, sparse_bsr), ("crow_indices", "col_indices")),
    ("column", (sparse_csc, sparse_bsc), ("ccol_indices", "row_indices")),
):
    for _name, _part in zip(_parts, ("compressed", "plain")):
        _publish_part(_name, _kind, _layouts, _part)
