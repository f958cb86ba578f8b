"""Reading and writing at places named element by element: `gather`, `scatter` and its kin, `take`, `put`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import describe, publish, published
from ...core.machine import LEADING, NOT_IMPLEMENTED, Tensor, TensorBase, check_apart, into
from ...core.machine.out_dtypes import check_out_dtype
from ...core.native import in_c
from ...core.values import (
    Array,
    Backend,
    Namespace,
    broadcast_shapes,
    dt,
    not_implemented_for,
    or_own,
    warn_once,
    wrap_dim,
)
from ...core.values.determinism import determinism
from ..formulas import onto, tensors, zeros
from ..reductions.reduce_at import SCATTER, into_mean, reduce_backward, start_of, ufunc_of
from ..vocabulary import undifferentiable
from .writing import Picking, Writing, check_range, combine, flat_places, from_front, grid, out_of_bounds

_INDEX_TYPES = (dt.int32, dt.int64)


def _at_least_1d(*arrays: Any) -> tuple[Any, ...]:
    return tuple([a if a.ndim else a.reshape(1) for a in arrays])


def _check_places(xp: Namespace, index: Array, dim: int, size: int) -> None:
    check_range(xp, index, size, out_of_bounds(dim, size, RuntimeError))


# ---- gather


def _check_gather(self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> None:
    shape, wanted = self._array.shape, index._array.shape
    dim = wrap_dim(dim, len(shape))
    if 0 in wanted:
        return
    if index.dtype not in _INDEX_TYPES:
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if (len(shape) or 1) != (len(wanted) or 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d, (n, have) in enumerate(zip(wanted, shape, strict=False)):
        if n > have and d != dim:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(wanted)} to be no larger than self "
                f"{list(shape)} apart from dimension {dim}"
            )


def _gather(xp: Namespace, self: Array, dim: int, index: Array, sparse_grad: bool) -> Any:
    shape = index.shape
    dim = wrap_dim(dim, self.ndim)
    if not index.size:
        return xp.empty(shape, self.dtype)
    self, index = _at_least_1d(self, index)
    _check_places(xp, index, dim, self.shape[dim])
    if self.flags.c_contiguous:
        found = self.reshape(-1).take(flat_places(xp, index, dim, self.shape))
        return found if shape else found.reshape(shape)
    return xp.ascontiguousarray(self[grid(xp, index, dim)]).reshape(shape)


gather = Picking(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)",
    _gather,
    {"self": lambda g, self, dim, index: onto(g.new_zeros(self.shape), "scatter_add", dim, index, g), "index": None},
    check_form=_check_gather, linear=True, batch=LEADING, shows="dim sparse_grad", over="index",
    resizes_first=True,
)  # fmt: skip
publish(gather)


def _into_along(out: Any, take: Any, values: Sequence[Any], name: str) -> Any:
    """The `out=` form: as that of `gather`, which computes it."""
    check_out_dtype(name, values[0].dtype, out.dtype, exact=True)
    check_apart(out, values[0], whole=True)
    return into(out, take, values, name)


@published("take_along_dim(Tensor self, Tensor indices, int? dim=None)", into=_into_along)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None) -> Tensor:
    """The elements at `indices`, which go round, along `dim`; both broadcast along the other dimensions."""
    if dim is None:
        return input.view((-1,)).gather(0, indices.view((-1,)))
    if input.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    if indices.dtype is not dt.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.legacy}")
    dim = wrap_dim(dim, input.dim())
    size = input.size(dim)
    common = broadcast_shapes(
        tuple(1 if d == dim else n for d, n in enumerate(input.shape)),
        tuple(1 if d == dim else n for d, n in enumerate(indices.shape)),
    )
    spread = indices.expand([indices.size(d) if d == dim else n for d, n in enumerate(common)])
    source = input.expand([size if d == dim else n for d, n in enumerate(common)])
    return source.gather(dim, spread.remainder(size))


# ---- scatter


def _check_scatter(self: Tensor, dim: int, index: Tensor, src: Any = None, *_: Any) -> None:
    mine, wanted = self._array.shape, index._array.shape
    theirs = src._array.shape if isinstance(src, TensorBase) else None
    dim = wrap_dim(dim, len(mine))
    if theirs is not None and src.dtype is not self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if 0 in wanted:
        return
    if index.dtype not in _INDEX_TYPES:
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    for shape, name in ((mine, "self"), (theirs, "src")):
        if shape is not None and (len(wanted) or 1) != (len(shape) or 1):
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")
    too_big = any([n > have and d != dim for d, (n, have) in enumerate(zip(wanted, mine, strict=False))])
    if theirs is not None:
        too_big = too_big or any([n > have for n, have in zip(wanted, theirs or (1,), strict=False)])
    if too_big:
        than = "" if theirs is None else f" and to be no larger size than src {list(theirs)}"
        raise RuntimeError(
            f"Expected index {list(wanted)} to be no larger than self {list(mine)} apart from dimension {dim}{than}"
        )


def _opened(xp: Namespace, self: Array, dim: int, index: Array, src: Array) -> tuple[Any, int, Any, Any]:
    """The arguments of a scatter with at least one dimension, checked, and the part of `src` that is used."""
    dim = wrap_dim(dim, self.ndim)
    self, index = _at_least_1d(self, index)
    _check_places(xp, index, dim, self.shape[dim])
    if src.ndim:
        src = src[tuple([slice(n) for n in index.shape])]
    return self, dim, index, src


@or_own
def _scatter(xp: Namespace, self: Array, dim: int, index: Array, src: Array) -> None:
    if index.size:
        self, dim, index, src = _opened(xp, self, dim, index, src)
        self[grid(xp, index, dim)] = src


def _scatter_combine(xp: Namespace, ufunc: str, self: Array, dim: int, index: Array, src: Array) -> None:
    """Combine `src` into the places of `self`, which has at least one dimension."""
    flat = self.reshape(-1)
    combine(xp, ufunc, flat, flat_places(xp, index, dim, self.shape).reshape(-1), src.reshape(-1))
    if not self.flags.c_contiguous:
        self[...] = flat.reshape(self.shape)


def _scatter_deprecated(xp: Namespace, self: Array, dim: int, index: Array, src: Array, reduce: str) -> None:
    if index.size:
        self, dim, index, src = _opened(xp, self, dim, index, src)
        _scatter_combine(xp, reduce, self, dim, index, xp.broadcast_to(src, index.shape))


def _check_scatter_reduce(self: Tensor, dim: int, index: Tensor, src: Any, reduce: str) -> None:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    _check_scatter(self, dim, index, src)
    if isinstance(src, TensorBase):
        warn_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
            "PyTorch release. Use torch.scatter_reduce instead for more reduction options."
        )


def _places_first(op: Writing, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
    """Places are looked at before the number, which any one may be where there are none."""
    try:
        return Writing.prepare(op, values, backend)
    except RuntimeError:
        self, index = _at_least_1d(values[0]._array, values[2]._array)
        if not index.size:
            return Writing.prepare(op, (*values[:3], 0, *values[4:]), backend)
        dim = wrap_dim(values[1], self.ndim)
        _check_places(backend.xp, index, dim, self.shape[dim])
        raise


_unknown = undifferentiable("derivative for aten::scatter is not implemented")


def _emptied(g: Tensor, dim: int, index: Tensor) -> Tensor:
    return g.scatter(dim, index, 0)


scatter_src = Writing(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src)",
    in_c("scatter.write", _scatter),
    {"self": _emptied, "index": None, "src": lambda g, dim, index: g.gather(dim, index)},
    check=_check_scatter, linear=True, batch=LEADING,
)  # fmt: skip
scatter_value = Writing(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value)",
    _scatter,
    {"self": _emptied, "index": None},
    check=_check_scatter, node="ScatterBackward1", batch=LEADING, prepare=_places_first, by_form=True,
)  # fmt: skip
scatter_src_reduce = Writing(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce)",
    _scatter_deprecated,
    {"self": _unknown, "index": None, "src": _unknown},
    check=_check_scatter_reduce, node=NOT_IMPLEMENTED, batch=LEADING,
)  # fmt: skip
scatter_value_reduce = Writing(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce)",
    _scatter_deprecated,
    {"self": _unknown, "index": None},
    check=_check_scatter_reduce, node=NOT_IMPLEMENTED, batch=LEADING, prepare=_places_first, by_form=True,
)  # fmt: skip
publish(scatter_src, scatter_src_reduce, scatter_value, scatter_value_reduce, inplace=True)


@or_own
def _scatter_add(xp: Namespace, self: Array, dim: int, index: Array, src: Array) -> None:
    if index.size:
        self, dim, index, src = _opened(xp, self, dim, index, src)
        _scatter_combine(xp, "add", self, dim, index, src)


scatter_add = Writing(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src)",
    in_c("scatter_add.write", _scatter_add),
    {"self": lambda g: g, "index": None, "src": lambda g, dim, index: g.gather(dim, index)},
    check=_check_scatter, linear=True, batch=LEADING,
)  # fmt: skip
publish(scatter_add, inplace=True)


def _check_reduce(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> None:
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _check_scatter(self, dim, index, src)
    if (reduce == "mean" and self.dtype is dt.bool_) or (reduce in ("amax", "amin") and self.dtype.is_complex):
        raise not_implemented_for(f"scatter_gather_tensor_cpu_reduce_{reduce}", self.dtype)


def _scatter_reduce(
    xp: Namespace, self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool
) -> None:
    if not index.size:
        return
    self, dim, index, src = _opened(xp, self, dim, index, src)
    if not include_self:
        self[grid(xp, index, dim)] = start_of(xp, reduce, self.dtype)
    _scatter_combine(xp, ufunc_of(reduce), self, dim, index, src)
    if reduce == "mean":
        count = xp.full(self.shape, int(include_self))
        _scatter_combine(xp, "add", count, dim, index, xp.ones(index.shape, dtype=count.dtype))
        into_mean(xp, self, count)


scatter_reduce = Writing(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)",
    _scatter_reduce,
    lambda g, self, dim, index, src, reduce, include_self, result: (
        reduce_backward(SCATTER, g, self, dim, index, src, reduce, include_self, result)
    ),
    constant=("index",), check=_check_reduce, batch=LEADING, complex_gradients=False,
)  # fmt: skip
publish(scatter_reduce, inplace=True)


# ---- take and put: places in the flattened tensor


def _long(name: str, index: Tensor) -> None:
    if index.dtype is not dt.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {index.dtype.legacy}")


def _check_take(self: Tensor, index: Tensor) -> None:
    _long("take", index)
    if index.numel() and not self.numel():
        raise IndexError("take(): tried to take from an empty tensor")


def _in_flat(xp: Namespace, index: Array, size: int) -> Any:
    def error(i: int) -> Exception:
        return IndexError(f"out of range: tried to access index {i} on a tensor of {size} elements.")

    check_range(xp, index, size, error, -size)
    return from_front(index, size)


def _take_by_gather(self: Tensor, index: Tensor) -> Tensor:
    flat, places = self.reshape((-1,)), index.reshape((-1,))
    return gather.apply(flat, 0, from_front(places, flat.numel()), False).reshape(index.shape)


take = Picking(
    "take(Tensor self, Tensor index)",
    lambda xp, self, index: self.reshape(-1).take(_in_flat(xp, index, self.size)),
    {"self": lambda g, self, index: onto(tensors.zeros_like(self), "put", index, g, True), "index": None},
    check=_check_take, linear=True, batch=_take_by_gather,
)  # fmt: skip
publish(take)


def _check_put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> None:
    if not accumulate:
        determinism.alert("put_")
    _long("put_", index)
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {self.dtype.legacy} and "
            f"source.dtype = {source.dtype.legacy}"
        )
    if source.numel() != index.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    if index.numel() and not self.numel():
        raise IndexError("put_(): Tried to put elements into an empty tensor")


def _put(xp: Namespace, self: Array, index: Array, source: Array, accumulate: bool) -> None:
    flat = self.reshape(-1)
    index = _in_flat(xp, index.reshape(-1), flat.size)
    if accumulate:
        combine(xp, "add", flat, index, source.reshape(-1))
    else:
        flat[index] = source.reshape(-1)
    if not self.flags.c_contiguous:
        self[...] = flat.reshape(self.shape)


def _put_by_scatter(self: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    flat = self.reshape((-1,))
    index = from_front(index.reshape((-1,)), flat.numel())
    scattered = scatter_add if accumulate else scatter_src
    return scattered.apply(flat, 0, index, source.reshape((-1,))).reshape(self.shape)


put = Writing(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False)",
    _put,
    {
        "self": lambda g, index, source_shape, accumulate: g if accumulate else g.put(index, zeros(g, source_shape)),
        "index": None,
        "source": lambda g, index, source: g.take(index).reshape(source._array.shape),
    },
    order="K", shows="accumulate", check=_check_put, linear=True, batch=_put_by_scatter,
)  # fmt: skip
publish(put, inplace=True)


@published("unravel_index(Tensor indices, any shape)", method=False)
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates of elements of an array of this shape, from their places in row-major order."""
    if indices.dtype.category != dt.INT:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, int):
        shape = (shape,)
    if isinstance(shape, TensorBase):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    for n in shape:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(n).__name__}")
        if n < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {tuple(shape)}")
    sizes = indices.new_tensor(shape, dtype=dt.int64)
    steps = indices.new_tensor([math.prod(shape[i + 1 :]) for i in range(len(shape))], dtype=dt.int64)
    return indices.to(dt.int64).unsqueeze(-1).floor_divide(steps).remainder(sizes).unbind(-1)


describe(
    gather="""The elements at these indices along a dimension: `out[i][j] = input[index[i][j]][j]` for `dim=0`.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """,
    put="A copy with these values at indices into the flattened tensor.",
    scatter="""A copy with `src` written to these indices along a dimension; `reduce` adds or multiplies.

    >>> torch.zeros(2, 3).scatter(1, torch.tensor([[2], [0]]), 1.0)
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """,
    scatter_add="A copy to which `src` is added at these indices along a dimension.",
    scatter_reduce="A copy reduced with `src` at these indices, by 'sum', 'prod', 'mean', 'amax' or 'amin'.",
    take="The elements at indices into the flattened tensor.",
)
