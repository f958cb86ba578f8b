"""Tensors of coordinates: what they are asked, `coalesce`, and what they are as dense ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..backends.sparse import Coo, CooBackend, coo, layout_name, like
from ..core.declare import method, publish
from ..core.machine import Tensor, bump, shared_counter, wrap
from ..core.values import dt, missing_kernel_of
from ..kernels import sparse as kernels
from ..operations.places.writing import combine
from ._family import OfTensors, check_kernel, held, is_coo, is_sparse, quiet, tensor

# ---- kernels of several rules


def places(array: Coo) -> Any:
    """The places of a tensor's values, as numbers in a row-major array of its sparse dimensions."""
    backend = array.indices._backend.home
    return quiet(kernels.flat_places, backend.xp, array.indices._array, array.shape[: array.sparse_dim])


def coalesced(array: Coo) -> Coo:
    """The array with its places in order, and the values at one place added up."""
    if array.nnz > 1 and not array.coalesced:
        check_kernel("cpublas_axpy_impl", array.values.dtype)
    return in_order(array)


def in_order(array: Coo) -> Coo:
    """The same of values of any type."""
    if array.coalesced:
        return array
    backend, values = array.values._backend.home, array.values._array
    flat = places(array)
    if kernels.distinct(flat):
        return Coo(array.indices.clone(), array.values.clone(), array.shape, True)
    at, sums = quiet(kernels.combined, backend.xp, flat, values)
    return Coo(tensor(array.indices._array[:, at], backend), tensor(sums, backend), array.shape, True)


def dense(array: Coo) -> Tensor:
    """The dense tensor of all values."""
    if array.nnz > 1 and not array.coalesced:
        check_kernel("cpublas_axpy_impl", array.values.dtype)
    backend, values = array.values._backend.home, array.values._array
    sizes, rest = array.shape[: array.sparse_dim], array.shape[array.sparse_dim :]
    made = backend.full((math.prod(sizes), *rest), 0, values.dtype)
    ufunc = "logical_or" if values.dtype.kind == "b" else "add"
    quiet(combine, backend.xp, ufunc, made, places(array), values)
    made = made if made.shape == array.shape else backend.from_fresh(made, array.shape)
    return wrap(made, array.values.dtype, backend)


def at_places(t: Tensor, indices: Tensor) -> Tensor:
    """The values of a dense tensor at columns of indices."""
    if indices.shape[0] == 1:
        return t.index_select(0, indices[0])
    return t[tuple(indices.unbind(0))] if indices.shape[0] else t.unsqueeze(0).expand(indices.shape[1], *t.shape)


def put_at_places(t: Tensor, indices: Tensor, values: Tensor) -> None:
    """Write values to a dense tensor at columns of indices, no two of which are the same."""
    if indices.shape[0] == 1:
        t.index_copy_(0, indices[0], values)
    else:
        t[tuple(indices.unbind(0))] = values


def matched(source: Coo, flat: Any) -> Tensor:
    """The values of a coalesced array at the places `flat`, zeros where it has none."""
    backend, xp, values = source.values._backend.home, source.values._backend.home.xp, source.values._array
    if not source.nnz:
        return tensor(backend.full((flat.size, *values.shape[1:]), 0, values.dtype), backend)
    own = places(source)
    at = xp.minimum(xp.searchsorted(own, flat), own.size - 1)
    found = (own[at] == flat).reshape((-1,) + (1,) * (values.ndim - 1))
    return tensor(xp.where(found, values[at], xp.zeros((), values.dtype)), backend)


# ---- what they are asked


def _expected(name: str, kind: str, t: Tensor) -> RuntimeError:
    return RuntimeError(f"{name} expected sparse {kind}tensor layout but got {layout_name(t)}")


def _own(name: str, t: Tensor) -> Coo:
    """The array of a tensor of coordinates, of which alone something is asked."""
    if not is_coo(t):
        raise missing_kernel_of(name, t._backend.real)
    return held(t, name)


def _shown(t: Tensor, part: Tensor) -> Tensor:
    """A part of an array as a tensor over the same memory."""
    made = part._alias()
    if t._counter is not None:
        made._counter = shared_counter(part)
    return made


@method("_indices")
def _indices(self: Tensor) -> Tensor:
    """The indices, coalesced or not."""
    return _shown(self, _own("_indices", self).indices)


@method("_values")
def _values(self: Tensor) -> Tensor:
    """The values, coalesced or not."""
    return _shown(self, _own("_values", self).values)


@method("_nnz")
def _nnz(self: Tensor) -> int:
    """How many places have values."""
    if not is_sparse(self):
        raise missing_kernel_of("_nnz", self._backend.real)
    return held(self, "_nnz").nnz


@method("sparse_dim", "_dimI")
def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse."""
    return 0 if not is_sparse(self) else held(self, "sparse_dim").sparse_dim if is_coo(self) else 2


@method("dense_dim", "_dimV")
def dense_dim(self: Tensor) -> int:
    """How many dimensions are dense: of a dense tensor, all."""
    return held(self, "dense_dim").dense_dim if is_sparse(self) else self.dim()


@method("is_coalesced")
def is_coalesced(self: Tensor) -> bool:
    """Whether places are in order, and none is named twice."""
    if not is_coo(self):
        raise _expected("is_coalesced", "coordinate ", self)
    return held(self, "is_coalesced").coalesced


@method("_coalesced_")
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Say of this tensor that it is coalesced, or not."""
    _own("_coalesced_", self).coalesced = coalesced
    bump(self)
    return self


coalesce_op = OfTensors(
    "_coalesce(Tensor self)", lambda self: like(self, coalesced(_own("_coalesce", self))), {"self": lambda g: g},
    node="CoalesceBackward0", linear=True,
)  # fmt: skip
publish(coalesce_op, method=False)


@method("coalesce")
def coalesce(self: Tensor) -> Tensor:
    """This tensor with its places in order, and the values at one place added up."""
    if not is_coo(self):
        raise _expected("coalesce", "coordinate ", self)
    return self if held(self, "coalesce").coalesced else coalesce_op.apply(self)


def _known(name: str, t: Tensor) -> Tensor:
    if not held(t, name).coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return t


@method("indices")
def indices(self: Tensor) -> Tensor:
    """The indices of a coalesced tensor."""
    if not is_coo(self):
        raise _expected("indices", "coordinate ", self)
    return _shown(self, _known("indices", self)._array.indices)


def _of_values(g: Tensor, self: Tensor) -> Tensor:
    return like(self, self._array.with_values(g))


values_op = OfTensors(
    "values(Tensor self)", lambda self: _shown(self, self._array.values), {"self": _of_values}, linear=True
)


@method("values")
def values(self: Tensor) -> Tensor:
    """The values of a coalesced tensor, or of a compressed one."""
    if not is_sparse(self):
        raise _expected("values", "", self)
    return values_op.apply(_known("values", self) if is_coo(self) else self)


# ---- changing sizes


_INSTEAD = """
You could try the following options:
1. If you need an empty sparse tensor of this size, call `x = torch.sparse_coo_tensor(size)`.
2. If you need to resize this tensor, you have the following options:
    1. For both sparse and dense dimensions, keep the number of them constant and the size of them non-shrinking, \
and then try the same call again.
    2. Or, create a new sparse tensor with the correct indices and values from this sparse tensor."""


def check_dims(size: Sequence[int], sparse: int, dense: int) -> None:
    """Refuse a size that has not so many dimensions."""
    if len(size) != sparse + dense:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {sparse}, dense_dim = {dense}"
        )


def _check_resized(array: Coo, size: Sequence[int], sparse: int, dense_: int) -> None:
    check_dims(size, sparse, dense_)
    if not array.nnz:
        return
    if sparse != array.sparse_dim or dense_ != array.dense_dim:
        which, have, to = (
            ("sparse", array.sparse_dim, sparse) if sparse != array.sparse_dim else ("dense", array.dense_dim, dense_)
        )
        raise RuntimeError(
            f"changing the number of {which} dimensions (from {have} to {to}) on a non-empty sparse tensor is not "
            f"supported.{_INSTEAD}"
        )
    for which, own, new in (
        ("sparse", array.shape[:sparse], tuple(size[:sparse])), ("dense", array.shape[sparse:], tuple(size[sparse:])),
    ):  # fmt: skip
        if any(n < have for n, have in zip(new, own, strict=True)):
            raise RuntimeError(
                f"shrinking the size of {which} dimensions (from {list(own)} to {list(new)}) on a non-empty sparse "
                f"tensor is not supported.{_INSTEAD}"
            )


def _grown(values: Tensor, rest: Sequence[int]) -> Tensor:
    """The values in larger dense dimensions, with zeros."""
    if values.shape[1:] == tuple(rest):
        return values
    made = values.new_zeros((values.shape[0], *rest))
    made[tuple([slice(n) for n in values.shape])] = values
    return made


@method("sparse_resize_")
def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give this tensor other sizes and, if it has no values, other numbers of dimensions."""
    array = _own("sparse_resize_", self)
    _check_resized(array, size, sparse_dim, dense_dim)
    if not array.nnz:
        return sparse_resize_and_clear_(self, size, sparse_dim, dense_dim)
    array.become(Coo(array.indices, _grown(array.values, size[sparse_dim:]), size, array.coalesced))
    bump(self)
    return self


@method("sparse_resize_and_clear_")
def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give this tensor other sizes and no values."""
    array = _own("sparse_resize_and_clear_", self)
    if sparse_dim + dense_dim != len(size):
        _check_resized(array, size, sparse_dim, dense_dim)
    array.become(nothing(size, sparse_dim, array.values)._array)
    bump(self)
    return self


def check_count(size: Sequence[int]) -> None:
    """Refuse sizes whose product does not fit 63 bits."""
    if math.prod([n % (1 << 64) for n in size]) >= 1 << 63:
        raise RuntimeError("numel: integer multiplication overflow")


def nothing(size: Sequence[int], sparse: int, values: Tensor) -> Tensor:
    """A tensor of zeros, of the dtype and device of `values`."""
    check_count(size)
    indices = values.new_empty((sparse, 0), dtype=dt.int64)
    return coo(indices, values.new_empty((0, *size[sparse:])), size, True)


@CooBackend.rule("zero", in_place=True)
def _zero(self: Tensor) -> None:
    self._array.become(nothing(self.shape, self._array.sparse_dim, self._array.values)._array)
