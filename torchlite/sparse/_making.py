"""Making sparse tensors: `torch.sparse_coo_tensor`, `torch.sparse_csr_tensor` and their kin, with their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backends.sparse import NAMES, Coo, compressed, coo, sparse_backend
from ..core.declare import Composite, describe, publish, publish_python
from ..core.machine import Tensor
from ..core.values import Backend, dt, missing_kernel_of, not_implemented_for, warn_once
from ..core.values.errors import key_of
from ..core.values.layout import COMPRESSED, layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..kernels import sparse as kernels
from ..operations.formulas import tensors
from ..operations.making.factories import checked
from ..operations.making.factory import IN_LAYOUTS
from ._compressed_invariants import Names, check_compressed
from ._coo import at_places, check_count, check_dims, coalesced, matched, nothing, places
from ._family import OfTensors, is_coo
from ._invariants import check_sparse_tensor_invariants

_OPTIONS = (
    "ScalarType? dtype=None, Device? device=None, bool pin_memory=False, bool requires_grad=False, "
    "bool? check_invariants=None"
)


def _checks(asked: bool | None) -> bool:
    """Whether invariants are checked; where nobody has said, they are not, with a warning."""
    if asked is None and check_sparse_tensor_invariants.implicit:
        warn_once(
            "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur when operating "
            "on a sparse tensor which violates the invariants, but checks incur performance overhead. To silence this "
            "warning, explicitly opt in or out. See `torch.sparse.check_sparse_tensor_invariants.__doc__` for "
            "guidance. "
        )
    return check_sparse_tensor_invariants.is_enabled() if asked is None else asked


def _beside(part: Any, values: Tensor, device: Any) -> Tensor:
    """Indices as a tensor: on the device that is asked for; else where they are, or with the values."""
    if device is None and not isinstance(part, Tensor):
        device = values.device
    return as_tensor(part, None, device)


def as_tensor(data: Any, d: dt.dtype | None, device: Any) -> Tensor:
    return tensors.as_tensor(data, dtype=d, device=device)


# ---- coordinates


def of_values(g: Tensor, indices: Tensor) -> Tensor:
    """The gradient of the values at `indices`: that of the sparse tensor, or what is there of a dense one."""
    if not is_coo(g):
        return at_places(g, indices)
    array = coalesced(g._array)
    backend = indices._backend.home
    flat = kernels.flat_places(backend.xp, indices._array, array.shape[: array.sparse_dim])
    return matched(array, flat)


with_parts = OfTensors(
    "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, int[] size, Tensor indices, "
    "Tensor values, *, bool? is_coalesced=None)",
    lambda sparse, dense, size, indices, values, is_coalesced: coo(indices, values, size, is_coalesced),
    {"indices": None, "values": of_values}, node="SparseCooTensorWithDimsAndTensorsBackward0", linear=True,
)  # fmt: skip


def _check_matching(indices: Tensor, values: Tensor) -> None:
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{indices.shape[1]}, nnz from values: {values.shape[0]}"
        )


def check_coo(indices: Tensor, values: Tensor, size: Sequence[int], invariants: bool, coalesced: bool) -> None:
    """Refuse parts that make no tensor of this size."""
    sparse, dense = indices.size(0), values.dim() - 1
    check_dims(size, sparse, dense)
    _check_matching(indices, values)
    check_count(size)
    expected = [values.shape[0], *size[sparse:]]
    if list(values.shape) != expected:
        raise RuntimeError(f"values has incorrect size, expected {expected}, got {list(values.shape)}")
    if not invariants or not indices.numel():
        return
    lowest, highest = indices.amin(1).tolist(), indices.amax(1).tolist()
    for d, (low, high) in enumerate(zip(lowest, highest)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
        if high >= size[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high}"
            )
    if coalesced and not kernels.distinct(places(Coo(indices, values, size))):
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def _inferred(indices: Tensor, values: Tensor) -> tuple[int, ...]:
    """The smallest size that has room for all indices."""
    _check_matching(indices, values)
    if not indices.shape[1]:
        return (*(0,) * indices.shape[0], *values.shape[1:])
    lowest = indices.amin(1).tolist()
    for d, low in enumerate(lowest):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
    return (*[n + 1 for n in indices.amax(1).tolist()], *values.shape[1:])


def _of_parts(
    indices: Any, values: Any, size: Any, d: Any, device: Any, requires_grad: bool, invariants: Any, coalesced: Any
) -> Tensor:
    values = as_tensor(values, d, device)
    indices = _beside(indices, values, device).to(dt.int64)
    if indices.device != values.device:
        here, there = [key_of(t._backend.real) for t in (indices, values)]
        raise RuntimeError(f"backend of indices ({here}) must match backend of values ({there})")
    values = values.expand(1) if not values.dim() else values
    if size is None:
        size = _inferred(indices, values)
    check_coo(indices, values, size, _checks(invariants), bool(coalesced))
    result = with_parts.apply(indices.shape[0], values.dim() - 1, tuple(size), indices, values, coalesced)
    return result._require_grad(True) if requires_grad else result


def _of_nothing(size: Any, d: Any, device: Any, pinned: Any, requires_grad: bool, *_: Any) -> Tensor:
    like = tensors.empty(0, dtype=d, device=device)
    result = nothing(tuple(size), len(size), like)
    return result._require_grad(True) if requires_grad else result


publish(
    Composite(
        f"sparse_coo_tensor(any indices, any values, *, {_OPTIONS}, bool? is_coalesced=None)",
        lambda i, v, d, device, pinned, *more: _of_parts(i, v, None, d, device, *more),
    ),
    Composite(
        f"sparse_coo_tensor.indices_size(any indices, any values, int[] size, *, {_OPTIONS}, bool? is_coalesced=None)",
        lambda i, v, size, d, device, pinned, *more: _of_parts(i, v, size, d, device, *more),
    ),
    Composite(f"sparse_coo_tensor.size(int[1] size, *, {_OPTIONS})", _of_nothing),
    method=False,
)


# ---- compressed rows and columns


def _of_compressed_values(g: Tensor, result: Tensor) -> Tensor:
    return g.sparse_mask(result).values()


compressed_op = OfTensors(
    "_sparse_compressed_tensor(Tensor compressed_indices, Tensor plain_indices, Tensor values, int[] size, "
    "Layout layout)",
    lambda starts, plain, values, size, layout_: compressed(layout_, starts, plain, values, size),
    {"compressed_indices": None, "plain_indices": None, "values": _of_compressed_values},
    node="SparseCompressedTensorBackward0", linear=True,
)  # fmt: skip


def _size_of(layout_: layout, starts: Tensor, plain: Tensor, values: Tensor) -> tuple[int, ...]:
    """The smallest size that has room for all indices."""
    batch, blocked = starts.dim() - 1, layout_ in (sparse_bsr, sparse_bsc)
    if starts.dim() != plain.dim():
        names = Names(layout_)
        if not starts.dim():
            raise RuntimeError(f"{names.starts} must have dimensionality >= 1 but got 0")
        raise RuntimeError(
            f"{names.starts} and {names.plain} dimensionalities must be equal but got {starts.dim()} and "
            f"{plain.dim()}, respectively"
        )
    if values.dim() <= batch + 2 * blocked:
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {2 * blocked}) "
            f"but got {values.dim()}"
        )
    if plain.dtype not in dt.INTEGERS:
        raise not_implemented_for("estimate_sparse_compressed_tensor_size", plain.dtype)
    lines, across = starts.shape[-1] - 1, int(plain.max()) + 1 if plain.numel() else 0
    sizes = [lines, across] if layout_ in (sparse_csr, sparse_bsr) else [across, lines]
    rest = values.shape[batch + 1 :]
    if blocked:
        sizes, rest = [n * b for n, b in zip(sizes, rest)], rest[2:]
    return (*starts.shape[:-1], *sizes, *rest)


def _compressed_of(
    starts: Any, plain: Any, values: Any, size: Any, d: Any, device: Any, laid: Any, requires_grad: bool,
    invariants: Any, name: str = "sparse_compressed_tensor", own: Any = None,
) -> Tensor:  # fmt: skip
    if own is None and laid not in COMPRESSED:
        what = "none" if laid is None else NAMES.get(laid, "Strided")
        raise RuntimeError(f"{name} expected sparse compressed tensor layout but got {what}")
    if own is not None and laid not in (None, own):
        raise RuntimeError(f"{name}: layout must be {NAMES[own]} but got {NAMES.get(laid, 'Strided')}")
    laid = own or laid
    values = as_tensor(values, d, device)
    starts, plain = [_beside(part, values, device) for part in (starts, plain)]
    names = Names(laid)
    for name, part in ((names.starts, starts), (names.plain, plain)):
        if part.device != values.device:
            raise RuntimeError(f"Values and {name} need to be on the same device.")
    if size is None:
        size = _size_of(laid, starts, plain, values)
    if _checks(invariants):
        check_compressed(laid, starts, plain, values, size)
    check_count(size)
    result = compressed_op.apply(starts, plain, values, tuple(size), laid)
    return result._require_grad(True) if requires_grad else result


def _publish_compressed(name: str, first: str, second: str, own: Any) -> None:
    options = (
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool pin_memory=False, "
        "bool requires_grad=False, bool? check_invariants=None"
    )

    def call(i: Any, j: Any, v: Any, size: Any, d: Any, laid: Any, device: Any, pinned: Any, *more: Any) -> Tensor:
        return _compressed_of(i, j, v, size, d, device, laid, *more, name, own)  # type: ignore[call-arg]

    publish(
        Composite(
            f"{name}(any {first}, any {second}, any values, *, {options})",
            lambda i, j, v, *rest: call(i, j, v, None, *rest),
        ),
        Composite(f"{name}.size(any {first}, any {second}, any values, int[] size, *, {options})", call),
        method=False,
    )


_publish_compressed("sparse_compressed_tensor", "compressed_indices", "plain_indices", None)
for _own, _name in ((sparse_csr, "csr"), (sparse_csc, "csc"), (sparse_bsr, "bsr"), (sparse_bsc, "bsc")):
    _names = Names(_own)
    _publish_compressed(f"sparse_{_name}_tensor", _names.starts, _names.plain, _own)

describe(
    sparse_coo_tensor="A sparse tensor of these values at these places: `indices` has a column for each of them.",
    sparse_compressed_tensor="A sparse tensor of a layout whose rows or columns are compressed, made of its parts.",
    sparse_csr_tensor="A sparse tensor with its rows compressed: where in `values` each begins, and their columns.",
    sparse_csc_tensor="A sparse tensor with its columns compressed: where in `values` each begins, and their rows.",
    sparse_bsr_tensor="A sparse tensor of dense blocks, whose rows of blocks are compressed.",
    sparse_bsc_tensor="A sparse tensor of dense blocks, whose columns of blocks are compressed.",
)


# ---- checks by themselves


publish_python(
    "_validate_sparse_coo_tensor_args(Tensor indices, Tensor values, int[] size, bool? is_coalesced=None, "
    "bool? check_pinning=None)",
    lambda i, v, size, coalesced, pinned: check_coo(i, v, size, True, bool(coalesced)), method=False,
)  # fmt: skip
publish_python(
    "_validate_sparse_compressed_tensor_args(Tensor compressed_indices, Tensor plain_indices, Tensor values, "
    "int[] size, Layout layout, bool? check_pinning=None)",
    lambda i, j, v, size, laid, pinned: check_compressed(laid, i, j, v, size), method=False,
)  # fmt: skip
for _own, _name in ((sparse_csr, "csr"), (sparse_csc, "csc"), (sparse_bsr, "bsr"), (sparse_bsc, "bsc")):
    _names = Names(_own)
    publish_python(
        f"_validate_sparse_{_name}_tensor_args(Tensor {_names.starts}, Tensor {_names.plain}, Tensor values, "
        "int[] size, bool? check_pinning=None)",
        lambda i, j, v, size, pinned, own=_own: check_compressed(own, i, j, v, size), method=False,
    )  # fmt: skip


# ---- empty ones


def in_layout(name: str) -> Callable[[Any], Any]:
    """Say how a factory makes tensors of other layouts than `torch.strided`."""

    def keep(f: Callable[..., Any]) -> Any:
        IN_LAYOUTS[name] = f
        return f

    return keep


def empty(laid: layout, size: Sequence[int], d: Any, backend: Backend, name: str = "empty") -> Tensor:
    """A sparse tensor without values."""
    if laid is sparse_coo:
        return nothing(tuple(size), len(size), tensors.empty(0, dtype=d, device=backend.device))
    if len(size) < 2:
        raise RuntimeError(
            f"torch.{name}: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}"
        )
    if laid in (sparse_bsr, sparse_bsc):
        raise RuntimeError(
            f"{name}_sparse_compressed expected sparse compressed (non-block) tensor layout but got {NAMES[laid]}"
        )
    values = tensors.empty(0, dtype=d, device=backend.device)
    return without_values(laid, checked(size, "empty"), len(size) - 2, (), dt.int64, values)


def without_values(
    laid: layout, size: Sequence[int], batch: int, block: Sequence[int], index: dt.dtype, values: Tensor
) -> Tensor:
    """A tensor of a compressed layout that has none, with so many batch dimensions; `values` says their dtype."""
    lines = size[batch] if laid in (sparse_csr, sparse_bsr) else size[batch + 1]
    if block:
        lines //= block[laid is sparse_bsc]
    starts = values.new_zeros((*size[:batch], lines + 1), dtype=index)
    plain = starts.new_empty((*size[:batch], 0))
    return compressed(laid, starts, plain, values.new_empty((*size[:batch], 0, *block, *size[batch + 2 :])), size)


in_layout("zeros")(lambda laid, size, d, backend: empty(laid, checked(size, "zeros"), d, backend, "zeros"))
in_layout("empty")(lambda laid, size, format_, d, backend: empty(laid, size, d, backend))
in_layout("new_zeros")(lambda laid, self, size, d, backend: empty(laid, size, d, backend))
in_layout("new_empty")(lambda laid, self, size, d, backend: empty(laid, size, d, backend))


def _filled(laid: layout, self: Tensor, size: Sequence[int], *more: Any) -> Tensor:
    """There are no values to fill in a compressed tensor of that size, and no kernel for one of coordinates."""
    *_, d, backend = more
    if laid is sparse_coo:
        raise missing_kernel_of("fill_.Scalar", sparse_backend(backend, laid))
    return empty(laid, size, d, backend)


in_layout("new_ones")(_filled)
in_layout("new_full")(_filled)


@in_layout("ones")
def _ones(laid: layout, size: Sequence[int], *more: Any) -> Tensor:
    *_, d, backend = more
    if laid is sparse_coo:
        raise RuntimeError("full(...) is not implemented for sparse layout")
    return empty(laid, size, d, backend)


in_layout("full")(_ones)


def _refused(kernel: str) -> Callable[..., Any]:
    def make(laid: layout, *more: Any) -> Tensor:
        raise missing_kernel_of(kernel, sparse_backend(more[-1], laid))

    return make


for _name, _kernel in (("rand", "uniform_"), ("randn", "normal_"), ("eye", "eye.m_out")):
    in_layout(_name)(_refused(_kernel))
