"""Sums and softmax of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.sparse import CompressedBackend, Coo, CooBackend, coo, layout_name, like
from ..core.declare import By, Composite, publish
from ..core.machine import Tensor
from ..core.values import dt, missing_kernel_of, sparse_csr, wrap_dim
from ..kernels import sparse as kernels
from ..operations.places.writing import combine
from ._compressed import as_coo
from ._coo import coalesced, matched, places
from ._family import OfTensors, check_kernel, is_coo, is_sparse, quiet, rule, tensor

# ---- sums


@rule("sum")
def _sum(t: Tensor, dtype: Any) -> Tensor:
    return t._array.values.sum(dtype=dtype)


def _reduced(t: Tensor, dims: Sequence[int]) -> list[int]:
    found = [wrap_dim(d, t.dim()) for d in dims]
    if len(set(found)) < len(found):
        raise RuntimeError(f"dim {found[-1]} appears multiple times in the list of dims")
    return found


def sum_dims(t: Tensor, dims: Sequence[int]) -> Tensor:
    """The sum over dimensions: dense, if all of the sparse ones are among them."""
    array: Coo = coalesced(t._array)
    dims = _reduced(t, dims)
    sparse = array.sparse_dim
    rest = [d - sparse + 1 for d in dims if d >= sparse]
    kept = [d for d in range(sparse) if d not in dims]
    values = array.values.sum(rest) if rest else array.values
    shape = [n for d, n in enumerate(t.shape) if d not in dims]
    if not kept:
        return values.sum(0)
    if len(kept) == sparse:
        return coo(array.indices, values, shape, True)
    return like(t, coalesced(Coo(array.indices[kept], values, shape)))


@CooBackend.rule("sum.dim_IntList")
def _sum_dim(t: Tensor, dims: Any, keepdim: bool, dtype: Any) -> Tensor:
    dims = tuple(range(t.dim())) if not dims else (dims,) if isinstance(dims, int) else dims
    dtype = dtype or (dt.int64 if t.dtype.category < dt.FLOAT else None)
    made = sum_dims(t if dtype is None else t.to(dtype), dims)
    if keepdim:
        for d in sorted(_reduced(t, dims)):
            made = made.unsqueeze(d)
    return made


def _of_sum(g: Tensor, self: Tensor, dims: Sequence[int]) -> Tensor:
    """The gradient of every value of the operand."""
    array: Coo = coalesced(self._array)
    dims = _reduced(self, dims)
    for d in sorted(d - array.sparse_dim for d in dims if d >= array.sparse_dim):
        at = d + 1 if is_sparse(g) else d
        if is_sparse(g):
            g = like(g, g._array.with_values(g._array.values.unsqueeze(at)))
        else:
            g = g.unsqueeze(at)
    kept = [d for d in range(array.sparse_dim) if d not in dims]
    if not kept:
        values = g.unsqueeze(0)
    else:
        own = coalesced(g._array) if is_sparse(g) else coalesced(g.to_sparse(len(kept))._array)
        values = matched(own, places(Coo(array.indices[kept], array.values, [self.shape[d] for d in kept])))
    return coo(array.indices, values.expand(array.values.shape).contiguous(), self.shape, True)


def _summed(self: Tensor, dims: Sequence[int]) -> Tensor:
    if not is_coo(self):
        self._indices()  # which says that it has none
    return sum_dims(self, dims)


_sparse_sum = OfTensors(
    "_sparse_sum.dim(Tensor self, int[1] dim)", _summed, {"self": lambda g, self, dim: _of_sum(g, self, dim)},
    node="SparseSumBackward0",
)  # fmt: skip


def sum(input: Tensor, dim: Any = None, dtype: dt.dtype | None = None) -> Tensor:
    """The sum of a sparse tensor, over some dimensions or all."""
    input = input if dtype is None else input.to(dtype)
    if dim is None:
        return input.coalesce().values().sum()
    made = _sparse_sum.apply(input, (dim,) if isinstance(dim, int) else tuple(dim))
    return made


publish(
    Composite("_sparse_sum(Tensor self)", sum),
    Composite("_sparse_sum.dtype(Tensor self, *, ScalarType dtype)", lambda self, dtype: sum(self, None, dtype)),
    _sparse_sum,
    Composite("_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype)", sum),
    method=False,
)


@CompressedBackend.rule("sum.dim_IntList")
def _sum_compressed(t: Tensor, dims: Any, keepdim: bool, dtype: Any) -> Tensor:
    if t.layout is not sparse_csr:
        raise RuntimeError(
            "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout "
            f"{layout_name(t)}"
        )
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    return _sum_dim(as_coo(t), dims, keepdim, dtype).to_sparse_csr()


# ---- softmax


def _groups(array: Coo, dim: int) -> tuple[Any, int]:
    """Which values share all places but that along a sparse dimension: the number of each one's group."""
    backend = array.indices._backend.home
    others = [d for d in range(array.sparse_dim) if d != dim]
    flat = kernels.flat_places(backend.xp, array.indices._array[others], [array.shape[d] for d in others])
    there, which = backend.xp.unique(flat, return_inverse=True)
    return which.reshape(-1), there.size


def _combined(ufunc: str, values: Tensor, groups: Any, count: int, start: float) -> Tensor:
    """The values of each group combined, for every value of it."""
    backend, array = values._backend.home, values._array
    made = backend.xp.full((count, *array.shape[1:]), start, array.dtype)
    quiet(combine, backend.xp, ufunc, made, groups, array)
    return tensor(made[groups], backend)


def _softmax_of(values: Tensor, groups: Any, count: int, log: bool) -> Tensor:
    shifted = values - _combined("maximum", values, groups, count, -float("inf"))
    total = _combined("add", shifted.exp(), groups, count, 0.0)
    return shifted - total.log() if log else shifted.exp() / total


def _softmax(log: bool) -> Any:
    def run(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
        if not is_coo(self):
            raise missing_kernel_of(_FORWARD[log].name, self._backend.real)
        array: Coo = coalesced(self._array)
        check_kernel("log_softmax" if log else "softmax", self.dtype)
        dim = wrap_dim(dim, self.dim())
        if dim >= array.sparse_dim:
            along = array.values.log_softmax if log else array.values.softmax
            return like(self, array.with_values(along(dim - array.sparse_dim + 1)))
        if not array.nnz:
            return like(self, array)
        return like(self, array.with_values(_softmax_of(array.values, *_groups(array, dim), log)))

    return run


def _softmax_backward(log: bool) -> Any:
    def run(grad: Tensor, output: Tensor, dim: int, self: Tensor) -> Tensor:
        if not is_coo(output):
            raise missing_kernel_of(f"{_FORWARD[log].name}_backward_data", output._backend.real)
        array: Coo = coalesced(output._array)
        g = matched(coalesced(grad._array), places(array))
        dim = wrap_dim(dim, self.dim())
        weighted = g if log else g * array.values
        if dim >= array.sparse_dim:
            total = weighted.sum(dim - array.sparse_dim + 1, keepdim=True)
        else:
            total = _combined("add", weighted, *_groups(array, dim), 0.0)
        return like(self, array.with_values(g - array.values.exp() * total if log else (g - total) * array.values))

    return run


def _publish_softmax(name: str, log: bool) -> Any:
    backward = OfTensors(
        f"_sparse_{name}_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self)", _softmax_backward(log)
    )
    publish(backward, method=False)
    return OfTensors(
        f"_sparse_{name}(Tensor self, int dim, bool half_to_float)", _softmax(log),
        {"self": By(backward, {"output": "result"})},
    )  # fmt: skip


_FORWARD = {log: _publish_softmax(name, log) for log, name in ((False, "softmax"), (True, "log_softmax"))}


def softmax(input: Tensor, dim: int, *, dtype: dt.dtype | None = None) -> Tensor:
    """Softmax along a dimension, over the values that there are."""
    return _FORWARD[False].apply(input if dtype is None else input.to(dtype), dim, False)


def log_softmax(input: Tensor, dim: int, *, dtype: dt.dtype | None = None) -> Tensor:
    """The logarithm of softmax along a dimension, over the values that there are."""
    return _FORWARD[True].apply(input if dtype is None else input.to(dtype), dim, False)
