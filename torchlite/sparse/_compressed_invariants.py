"""What holds of the parts of a tensor in a compressed layout, in the order in which PyTorch asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.sparse import layout_name
from ..core.machine import Tensor
from ..core.values import dt
from ..core.values.layout import layout, sparse_bsc, sparse_bsr, sparse_csr
from ..operations.formulas import tensors
from ._family import is_sparse


class Names:
    """The names that errors give the parts of a compressed layout."""

    def __init__(self, layout_: layout) -> None:
        rows = layout_ in (sparse_csr, sparse_bsr)
        self.starts, self.plain = ("crow_indices", "col_indices") if rows else ("ccol_indices", "row_indices")
        self.lines, self.across = ("row", "col") if rows else ("column", "row")
        self.count, self.width = ("nrows", "ncols") if rows else ("ncols", "nrows")
        blocked = layout_ in (sparse_bsr, sparse_bsc)
        self.many = f"{self.lines}{' block' if blocked else ''}s"


def _see(holds: Any, otherwise: str) -> None:
    if not holds:
        raise RuntimeError(otherwise)


def _check_dims(names: Names, starts: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], block: int) -> None:
    """Refuse parts that have not the dimensions that go together."""
    for name, t in ((names.starts, starts), (names.plain, plain), ("values", values)):
        _see(not is_sparse(t), f"expected {name} to be a strided tensor but got {layout_name(t)} tensor")
    for name, t in ((names.starts, starts), (names.plain, plain)):
        _see(not t.dim() or t.stride(-1) == 1, f"expected {name} to be a contiguous tensor per batch")
    _see(starts.dim() >= 1, f"{names.starts} must have dimensionality >= 1 but got {starts.dim()}")
    _see(
        starts.dim() == plain.dim(),
        f"{names.starts} and {names.plain} dimensionalities must be equal but got {starts.dim()} and {plain.dim()}, "
        "respectively",
    )
    batch = starts.dim() - 1
    dense = values.dim() - batch - block - 1
    _see(
        dense >= 0,
        f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {block}) but got "
        f"{values.dim()}",
    )
    _see(
        len(size) == batch + 2 + dense,
        f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + {dense}) but "
        f"got {len(size)}",
    )
    batches = [list(t.shape[:batch]) for t in (starts, plain, values)]
    _see(
        all(b == list(size[:batch]) for b in batches),
        f"all batch dimensions of {names.starts} (={batches[0]}), {names.plain} (={batches[1]}), and values "
        f"(={batches[2]}) must be equal to tensor batch dimensions (={list(size[:batch])})",
    )


def _check_sizes(names: Names, starts: Tensor, plain: Tensor, nnz: int, batch: int, count: int) -> None:
    """Refuse indices that are not as many as lines and values, or of a type that there are none of."""
    _see(
        starts.shape[-1] == count + 1,
        f"{names.starts}.shape[-1] must be equal to the number of {names.many} + 1 (={count + 1}), but got "
        f"{starts.shape[-1]}",
    )
    _see(
        plain.shape[-1] == nnz,
        f"{names.plain}.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{batch}], but got "
        f"{plain.shape[-1]}",
    )
    _see(
        starts.dtype is plain.dtype,
        f"{names.starts} and {names.plain} must have the same dtype, bot got {starts.dtype.legacy} and "
        f"{plain.dtype.legacy}, respectively",
    )
    _see(
        starts.dtype in (dt.int32, dt.int64),
        f"{names.starts} and {names.plain} dtype must be Int or Long, but got {starts.dtype.legacy}",
    )


def _check_indices(names: Names, starts: Tensor, plain: Tensor, nnz: int, width: int) -> None:
    """Refuse indices that say where no values can be."""

    def satisfied(holds: Tensor, what: str) -> None:
        _see(bool(holds.all()), f"`{what}` is not satisfied.")

    satisfied(starts[..., 0] == 0, f"{names.starts}[..., 0] == 0")
    satisfied(starts[..., -1] == nnz, f"{names.starts}[..., -1] == nnz")
    satisfied((plain >= 0) & (plain < width), f"0 <= {names.plain} < {names.width}")
    steps = starts.diff(dim=-1)
    satisfied(
        (steps >= 0) & (steps <= width),
        f"0 <= {names.starts}[..., 1:] - {names.starts}[..., :-1] <= {names.width}",
    )
    new = tensors.zeros((*plain.shape[:-1], nnz + 1), dtype=dt.bool_).scatter_(-1, starts.long(), True)[..., 1:nnz]
    satisfied(
        (plain.diff(dim=-1) > 0) | new,
        f"{names.plain}[..., {names.starts}[..., i - 1]:{names.starts}[..., i]] for all i = 1, ..., {names.count} are "
        "sorted and distinct along the last dimension values",
    )


def check_compressed(layout_: layout, starts: Tensor, plain: Tensor, values: Tensor, size: Sequence[int]) -> None:
    """Refuse parts that make no tensor of this size and layout."""
    names, blocked = Names(layout_), layout_ in (sparse_bsr, sparse_bsc)
    _check_dims(names, starts, plain, values, size, 2 * blocked)
    batch = starts.dim() - 1
    sizes, nnz = list(size[batch : batch + 2]), values.shape[batch]
    if blocked:
        for d, block in enumerate([n or 1 for n in values.shape[batch + 1 : batch + 3]]):
            _see(
                sizes[d] % block == 0,
                f"tensor shape[{batch + d}] (={sizes[d]}) must be divisible with blocksize[{d}] (={block}) as defined "
                "by values shape",
            )
            sizes[d] //= block
    count, width = sizes if names.lines == "row" else reversed(sizes)
    _check_sizes(names, starts, plain, nnz, batch, count)
    _check_indices(names, starts, plain, nnz, width)
