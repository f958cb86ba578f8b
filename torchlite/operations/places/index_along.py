"""Ops along one dimension by a vector of places: `index_select`, `index_add`, `index_copy`, `index_fill`, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.declare import describe, publish
from ...core.machine import Tensor, TensorBase, fitting_array
from ...core.values import Array, Backend, Namespace, dt, not_implemented_for, or_own, warn_once, wrap_dim
from ..formulas import onto, options
from ..products.matmul import of_coordinates
from ..reductions.reduce_at import INDEX, into_mean, reduce_backward, start_of, ufunc_of
from ..shapes.shape import along_dim, at_least_1d
from ..vocabulary import scaled
from .gather import gather, scatter_add, scatter_src, scatter_value
from .writing import Picking, Writing, check_range, combine, from_front, out_of_bounds

_INDEX_TYPES = (dt.int32, dt.int64)


def _check_select(self: Tensor, dim: int, index: Tensor) -> None:
    if of_coordinates(self):
        return
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in _INDEX_TYPES:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not self.dim() and index.numel() != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")


def _index_select(xp: Namespace, self: Array, dim: int, index: Array) -> Any:
    dim = wrap_dim(dim, self.ndim)
    rows = self if self.ndim else self.reshape(1)
    size = rows.shape[dim]
    if index.size and not size and rows.ndim > 1:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    check_range(xp, index, size, _out_of_range)
    return rows.take(index.reshape(-1) if self.ndim else index.reshape(()), dim)


def _out_of_range(i: int) -> Exception:
    return IndexError("index out of range in self")


def _element_by_element(like: Tensor, dim: int, index: Tensor) -> tuple[Tensor, int, Tensor]:
    """What `gather` and `scatter` are to be called with to take or put whole slices of `like`."""
    like = at_least_1d(like)
    dim = wrap_dim(dim, like.dim())
    index = index.reshape(along_dim(dim, like.dim()))
    return like, dim, index.expand((*like.shape[:dim], index.shape[dim], *like.shape[dim + 1 :]))


def _select_by_gather(self: Tensor, dim: int, index: Tensor) -> Tensor:
    made = gather.apply(*_element_by_element(self, dim, index), False)
    return made if self.dim() else made.reshape(())


index_select = Picking(
    "index_select(Tensor self, int dim, Tensor index)",
    _index_select,
    {
        "self": lambda g, self_shape, dim, index: onto(
            g.new_zeros(self_shape, **options(g)), "index_add", dim, index, g
        ),
        "index": None,
    },
    check_form=_check_select, linear=True, batch=_select_by_gather,
)  # fmt: skip
publish(index_select)


def _rows(xp: Namespace, array: Array, dim: int) -> Array:
    """The array seen as a sequence of slices along `dim`."""
    return xp.moveaxis(array, wrap_dim(dim, array.ndim), 0) if array.ndim else array.reshape(1)


def _without(dim: int, t: Tensor) -> list[int]:
    """The shape of a slice along `dim`."""
    return [n for d, n in enumerate(t.shape) if d != dim]


# ---- index_add


def _check_same_slices(name: str) -> Callable[..., None]:
    def check(self: Tensor, dim: int, index: Tensor, source: Tensor, *_: Any, **__: Any) -> None:
        if index.dtype not in _INDEX_TYPES:
            raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {index.dtype.legacy}")
        if self.dtype is not source.dtype:
            raise RuntimeError(
                f"{name}(): self ({self.dtype.legacy}) and source ({source.dtype.legacy}) must have the same scalar "
                "type"
            )
        if index.dim() > 1:
            raise IndexError(
                f"{name}(): Index is supposed to be a vector, but got dim: {index.dim()} with type: "
                f"{index.dtype.legacy} and size: {list(index.shape)}"
            )
        dim = wrap_dim(dim, self.dim())
        count = source.shape[dim] if dim < source.dim() else 1
        if not source.dim() and index.numel() != count:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        if source.dim() and index.numel() != count:
            raise RuntimeError(
                f"{name}(): Number of indices ({index.numel()}) should be equal to source.size(dim): ({count}), for "
                f"dim: {dim}"
            )
        mine, theirs = _without(dim, self), _without(dim, source)
        if mine != theirs or self.dim() != source.dim():
            raise RuntimeError(
                "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
                f"= {list(self.shape)} source.shape = {list(source.shape)}"
            )

    return check


def _with_factor(op: Writing, values: Any, backend: Backend) -> tuple[Any, ...]:
    arguments, out_dtype = Writing.prepare(op, values, backend)
    d, alpha = values[0].dtype, values[4]
    if alpha != 1:
        arguments[4] = fitting_array(alpha if d.category >= dt.FLOAT else int(alpha), d, backend)
    return arguments, out_dtype


@or_own
def _index_add(xp: Namespace, self: Array, dim: int, index: Array, source: Array, alpha: Any) -> None:
    if self.ndim > 1 and not self.size:
        return  # nothing lies at any place
    rows, values = _rows(xp, self, dim), _rows(xp, source, dim)
    index = index.reshape(-1)
    beyond = out_of_bounds(wrap_dim(dim, self.ndim), len(rows), RuntimeError) if self.ndim > 1 else _out_of_range
    check_range(xp, index, len(rows), beyond)
    combine(xp, "add", rows, index, values if alpha.__class__ is int else xp.multiply(values, alpha))


def _add_by_scatter(self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any) -> Tensor:
    rows, dim, index = _element_by_element(self, dim, index)
    return scatter_add.apply(rows, dim, index, source.reshape(index.shape) * alpha).reshape(self.shape)


def _of_source(g: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """The gradient of what is added or copied: of these places."""
    found = g.index_select(dim, index)
    return found.expand_as(source) if source.dim() else found.reshape(())


index_add = Writing(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)",
    _index_add,
    {
        "self": lambda g: g,
        "index": None,
        "source": lambda g, dim, index, source, alpha: scaled(_of_source(g, dim, index, source), alpha),
    },
    check=_check_same_slices("index_add_"), prepare=_with_factor, by_form=True, linear=True, batch=_add_by_scatter,
    shows="alpha dim source_dim", resizes_first=True,
)  # fmt: skip
publish(index_add, inplace=True)


# ---- index_copy


def _check_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    dim = wrap_dim(dim, self.dim())
    if index.dtype is not dt.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.legacy}")
    if index.dim() > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.dim()})")
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {self.dtype.legacy} and "
            f"(source) {source.dtype.legacy}"
        )
    count = index.numel()
    if not source.dim() and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if source.dim() and self.dim() and source.dim() != self.dim():
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.dim()}), destination dimensionality ({self.dim()})"
        )
    mine, theirs = _without(dim, self), _without(dim, source)
    if mine != theirs:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, mine))} at dimension {dim} and source slice shape: {' '.join(map(str, theirs))} at "
            "dimension 0."
        )
    if source.dim() and count != source.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({source.shape[dim]})"
        )


def _index_copy(xp: Namespace, self: Array, dim: int, index: Array, source: Array) -> None:
    rows = _rows(xp, self, dim)
    index = index.reshape(-1)
    size = len(rows)
    if size and not rows.size:
        return  # nothing lies at any place
    check_range(
        xp,
        index,
        size,
        lambda i: IndexError(
            f"index_copy_(): index {i} is out of bounds for dimension {wrap_dim(dim, self.ndim)} with size {size}"
        ),
    )
    rows[index] = _rows(xp, source, dim)


def _emptied(g: Tensor, dim: int, index: Tensor) -> Tensor:
    return g.index_fill(dim, index, 0)


def _copy_by_scatter(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    rows, dim, index = _element_by_element(self, dim, index)
    return scatter_src.apply(rows, dim, index, source.reshape(index.shape)).reshape(self.shape)


index_copy = Writing(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source)",
    _index_copy,
    {
        "self": _emptied,
        "index": None,
        "source": _of_source,
    },
    check=_check_copy, linear=True, batch=_copy_by_scatter, shows="dim source_dim",
    resizes_first=True,
)  # fmt: skip
publish(index_copy, inplace=True)


# ---- index_fill


def _check_fill(self: Tensor, dim: int, index: Tensor, value: Any) -> None:
    if index.dtype is not dt.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.dim() > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")


def _check_fill_tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> None:
    if value.dim():
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    _check_fill(self, dim, index, 1j if value.is_complex() else 1)


def _index_fill(xp: Namespace, self: Array, dim: int, index: Array, value: Any) -> None:
    rows = _rows(xp, self, dim)
    size = len(rows)
    if size and not rows.size:
        return
    check_range(xp, index, size, out_of_bounds(wrap_dim(dim, self.ndim), size), -size)
    rows[from_front(index.reshape(-1), size)] = value


def _filled_sum(g: Tensor, dim: int, index: Tensor) -> Tensor:
    """The sum over the filled places, each of which counts once."""
    return g.index_select(dim, index.remainder(g.size(dim) if g.dim() else 1).unique()).sum()


def _fill_by_scatter(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    rows, dim, index = _element_by_element(self, dim, index)
    index = from_front(index, rows.shape[dim])
    if not isinstance(value, TensorBase):
        return scatter_value.apply(rows, dim, index, value).reshape(self.shape)
    return scatter_src.apply(rows, dim, index, value.to(self.dtype).expand(index.shape)).reshape(self.shape)


# The value is read before anything is written.
_IN_PLACE: dict[str, Any] = {
    "reads": lambda self, dim, index, value: (index,), "repeats": True,
    "warns": lambda *_: {"index_fill": "mask] = scalar"},
}  # fmt: skip
index_fill = Writing(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value)",
    _index_fill,
    {"self": _emptied, "index": None},
    order="K", check=_check_fill, **_IN_PLACE, batch=_fill_by_scatter,
)  # fmt: skip
index_fill_tensor = Writing(
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value)",
    _index_fill,
    {"self": _emptied, "index": None, "value": _filled_sum},
    order="K", check=_check_fill_tensor, **_IN_PLACE, node="IndexFillBackward1", batch=_fill_by_scatter,
)  # fmt: skip
publish(index_fill_tensor, index_fill, inplace=True)


# ---- index_reduce


def _check_reduce(self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> None:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    _check_same_slices("index_reduce_")(self, dim, index, source)
    warn_once("index_reduce() is in beta and the API may change at any time.")
    if self.dtype.is_complex or self.dtype is dt.bool_:
        if not include_self:
            raise not_implemented_for("index_reduce_func_exclude_input_init", self.dtype)
        if self.dim() < 2:
            raise not_implemented_for("index_func_", self.dtype)
        if self.dtype.is_complex and reduce in ("amax", "amin"):  # slices are reduced by other ops
            raise not_implemented_for("maximum_cpu" if reduce == "amax" else "minimum_cpu", self.dtype)
        if self.dtype is dt.bool_ and reduce == "mean":
            raise not_implemented_for("div_floor_cpu", self.dtype)


def _index_reduce(
    xp: Namespace, self: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool
) -> None:
    rows, values = _rows(xp, self, dim), _rows(xp, source, dim)
    index = index.reshape(-1)
    check_range(xp, index, len(rows), _out_of_range)
    if not include_self:
        rows[index] = start_of(xp, reduce, self.dtype)
    combine(xp, ufunc_of(reduce), rows, index, values)
    if reduce == "mean":
        count = xp.full(len(rows), int(include_self))
        combine(xp, "add", count, index, xp.ones(index.size, dtype=count.dtype))
        into_mean(xp, rows, count.reshape((-1,) + (1,) * (rows.ndim - 1)))


index_reduce = Writing(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)",
    _index_reduce,
    lambda g, self, dim, index, source, reduce, include_self, result: (
        reduce_backward(INDEX, g, self, dim, index, source, reduce, include_self, result)
    ),
    constant=("index",), complex_gradients=False, check=_check_reduce, resizes_first=True,
    batch=lambda self, dim, index, source, reduce, include_self: self.scatter_reduce(
        dim, index.reshape(along_dim(dim, source.dim())).expand(source.shape), source, reduce, include_self=include_self
    ),
)  # fmt: skip
publish(index_reduce, inplace=True)


describe(
    index_add="""A copy to which the rows of `source` are added at these indices along a dimension.

    >>> torch.zeros(3).index_add(0, torch.tensor([0, 2, 2]), torch.ones(3))
    tensor([1., 0., 2.])
    """,
    index_copy="A copy with the rows of `source` at these indices along a dimension.",
    index_fill="A copy with a value in the rows at these indices along a dimension.",
    index_reduce="A copy in which rows at these indices are reduced with those of `source`, by 'prod', 'mean', "
    "'amax' or 'amin'.",
    index_select="The rows at these indices along a dimension, as a copy.",
)
