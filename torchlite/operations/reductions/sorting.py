"""Sorting, the largest and smallest few, and places in what is sorted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Along, Op, Reduction, describe, publish, published, published_whole, refused
from ...core.machine import LEADING, Tensor, check_apart, converted, resolve, result_type, write_out
from ...core.state import local
from ...core.values import Array, Backend, Namespace, dense_strides, dt, errors, strided, warn_once
from ..making.factories import full
from ..places.writing import check_range
from ..products.matmul import into_exactly
from ..vocabulary import requirement
from .extremes import INDICES, along, put_at

_MEASURED = {dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64} | dt.FLOATS  # what has an order, and kernels for it
_NO_ORDER = tuple([d for d in dt.DTYPES if d not in _MEASURED])


# ---- sorting


def _pick(xp: Namespace, array: Array, places: Any, axis: int) -> Any:
    return array[places] if array.ndim == 1 else xp.take_along_axis(array, places, axis)


def order(xp: Namespace, array: Array, axis: int, descending: bool) -> Any:
    """The places of the elements in sorted order: equals stay in theirs, NaNs count as largest."""
    if not descending:
        return xp.argsort(array, axis, kind="stable")
    backwards = xp.argsort(xp.flip(array, axis), axis, kind="stable")
    return array.shape[axis] - 1 - xp.flip(backwards, axis)


def _sort(xp: Namespace, array: Array, axis: int, descending: bool) -> tuple[Any, Any]:
    places = order(xp, array, axis, descending)
    return _pick(xp, array, places, axis), places


def _refuse_sort(d: dt.dtype) -> Exception | None:
    if d.is_complex:
        return RuntimeError(" Sort does not support complex dtypes on CPU")
    known = d.category < dt.FLOAT or d in dt.FLOATS
    return None if known else errors.not_implemented_for("sorting_kernel_method_name", d)


def _arranged_as_operand(op: Along, outputs: Any, values: Any) -> Any:
    """The results lie in memory as the operand does."""
    t: Tensor = values[0]
    backend = t._backend.real
    several = outputs if outputs.__class__ is tuple else (outputs,)
    if not t._array.ndim:
        several = tuple([o.reshape(()) for o in several])
    elif backend.strided and not (t._array.base is None and t._array.flags.c_contiguous):
        strides = dense_strides(t._array.shape, t.stride())
        several = tuple([backend.ordered(o, strides) for o in several])
    return several if outputs.__class__ is tuple else several[0]


_SORTING: dict[str, Any] = {
    "refuse": _refuse_sort, "exact_out": True, "arranged": _arranged_as_operand, "elementwise": True,
}  # fmt: skip
_BY_DIM = "(Tensor self, int dim=-1, bool descending=False)"
sort = Along(f"sort{_BY_DIM} -> (Tensor values, Tensor indices)", _sort, put_at, result=INDICES, **_SORTING)
sort_stable = Along(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    lambda xp, array, axis, stable, descending: _sort(xp, array, axis, descending),
    put_at,
    result=INDICES, node="SortBackward1", **_SORTING,
)  # fmt: skip
publish(sort, sort_stable)


def _ask_history(self: Tensor, *_: Any) -> None:
    """PyTorch's argsort is a result of its sort, which asks for the history, and raises where that is lost."""
    if local.state.mode.grad:
        resolve(self)


argsort = Along(
    f"argsort{_BY_DIM}", order, result=dt.int64, check=_ask_history,
    made_of=lambda self, dim, descending: lambda: sort.apply(self, dim, descending)[1], **_SORTING,
)  # fmt: skip
argsort_stable = Along(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False)",
    lambda xp, array, axis, stable, descending: order(xp, array, axis, descending),
    result=dt.int64, check=_ask_history, **_SORTING,
)  # fmt: skip
publish(argsort, argsort_stable)


@published("msort(Tensor self)", into=into_exactly)
def msort(input: Tensor) -> Tensor:
    """The rows' elements sorted along the first dimension."""
    return sort.apply(input, 0, False).values


# ---- the first few of what is sorted


def _at(axis: int, which: Any) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, which)


def _check_topk(self: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> None:
    shape = self._array.shape
    axis = errors.wrap_dim(dim, len(shape))
    if not 0 <= k <= (shape[axis] if shape else 1):
        raise RuntimeError("selected index k out of range")


def _topk(xp: Namespace, array: Array, axis: int, k: int, largest: bool, sorted: bool) -> tuple[Any, Any]:
    if not k or not array.size:
        shape = (*array.shape[:axis], k, *array.shape[axis + 1 :])
        return xp.empty(shape, array.dtype), xp.empty(shape, xp.int64)
    if array.size <= _FEW:
        places = order(xp, array, axis, largest)[_at(axis, slice(k))]
        return _pick(xp, array, places, axis), places
    if largest:
        places = xp.moveaxis(_largest(xp, xp.moveaxis(array, axis, -1), k), -1, axis)
    else:
        places = xp.argpartition(array, k - 1, axis)[_at(axis, slice(k))]
    values = _pick(xp, array, places, axis)
    if sorted:
        ordered = order(xp, values, axis, largest)
        places, values = [_pick(xp, a, ordered, axis) for a in (places, values)]
    return values, places


_FEW = 256  # elements, which are sorted faster than selected from
_BLOCK = 64


def _largest(xp: Namespace, rows: Array, k: int) -> Any:
    """Where the `k` largest elements of each row are, in no order.

    Of a long row, they are sought in the blocks with the largest maxima, of which there are `k` at most.
    """
    n = rows.shape[-1]
    blocks = n // _BLOCK
    if blocks < 8 * k:
        return xp.argpartition(rows, n - k, -1)[..., n - k :]
    inside = blocks * _BLOCK
    maxima = rows[..., :inside].reshape((*rows.shape[:-1], blocks, _BLOCK)).max(-1)
    starts = _largest(xp, maxima, k) * _BLOCK
    places = (starts[..., None] + xp.arange(_BLOCK)).reshape((*rows.shape[:-1], k * _BLOCK))
    rest = xp.broadcast_to(xp.arange(inside, n), (*rows.shape[:-1], n - inside))
    places = xp.concatenate([places, rest], -1)
    chosen = _largest(xp, _pick(xp, rows, places, rows.ndim - 1), k)
    return _pick(xp, places, chosen, rows.ndim - 1)


def _refuse_topk(d: dt.dtype) -> Exception | None:
    if d is dt.bool_:
        return RuntimeError("topk does not support bool dtypes on CPU")
    if d.is_complex:
        return RuntimeError(" topk does not support complex dtypes on CPU")
    return refused("topk_cpu", *_NO_ORDER)(d)


def _with_one(op: Along, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
    arguments, dtypes = Along.prepare(op, values, backend)
    if not values[0]._array.ndim:
        arguments[2] = 1  # there is one, even where none is asked for
    return arguments, dtypes


topk = Along(
    "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    _topk,
    put_at,
    result=INDICES, refuse=_refuse_topk, exact_out=True, check_form=_check_topk, prepare=_with_one, by_form=True,
)  # fmt: skip
publish(topk)


_no_kth = refused("kthvalue_cpu", *_NO_ORDER)


def _check_kth(self: Tensor, k: int, dim: int, keepdim: bool) -> None:
    shape = self._array.shape or (1,)
    axis = errors.wrap_dim(dim, len(shape))
    if not shape[axis]:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= shape[axis]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if self._array.ndim and (error := _no_kth(self.dtype)) is not None:  # one element needs no order
        raise error


def _check_kth_apart(out: Any, values: Sequence[Any]) -> None:
    for target in out:
        check_apart(target, values[0], whole=True)


kthvalue = Reduction(
    "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    along(
        "kthvalue", lambda xp, array, axis, k: xp.argpartition(array, k - 1, axis)[_at(axis, slice(k - 1, k))].copy()
    ),
    put_at,
    result=INDICES, exact_out=True, check_form=_check_kth, check_out=_check_kth_apart, complex_gradients=False,
)  # fmt: skip
publish(kthvalue)


# ---- where something belongs in what is sorted


def _search(
    xp: Namespace, sequence: Array, values: Any, out_int32: bool, right: bool, side: str | None, sorter: Any
) -> Array:
    right = right or side == "right"
    if sorter is not None:
        n = sequence.shape[-1]
        check_range(xp, sorter, n, lambda i: RuntimeError("torch.searchsorted(): sorter index out of range"))
        sequence = xp.take_along_axis(sequence, sorter, -1)
    if sequence.ndim == 1 and not _ends_in_nan(sequence):
        values = xp.ascontiguousarray(values).reshape(values.shape)
        places = xp.searchsorted(sequence, values, "right" if right else "left")
    else:
        places = _bisect(xp, sequence, values, right)
    return xp.asarray(places).astype(xp.int32 if out_int32 else xp.int64)


def _ends_in_nan(sequence: Any) -> bool:
    """NaNs are searched for by comparing with them, which is false, and not by their place at the end."""
    return sequence.dtype.kind == "f" and bool((sequence[-1:] != sequence[-1:]).sum().item())


def _bisect(xp: Namespace, sequence: Array, values: Array, right: bool) -> Array:
    """For each value the first place in its row of `sequence` whose element is not less (or, `right`, is greater)."""
    n = sequence.shape[-1]
    shape = values.shape
    rows = max(sequence.size // max(n, 1), 1)
    flat, values = sequence.reshape(-1), values.reshape(rows, -1)
    start = xp.arange(0, rows * n, max(n, 1)).reshape(-1, 1) if n else 0
    low = xp.zeros(values.shape, xp.int64)
    high = xp.full(values.shape, n, xp.int64)
    for _ in range(n.bit_length()):
        middle = (low + high) >> 1
        element = flat[xp.minimum(middle, n - 1) + start]
        reached = element > values if right else element >= values
        found = low < high
        low, high = xp.where(found & ~reached, middle + 1, low), xp.where(found & reached, middle, high)
    return low.reshape(shape)


def _measured(op: Op, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
    """A search is for values of a sequence's own dtype, or one both are converted to."""
    sequence, sought, *rest, sorter = values
    common = result_type(sequence, sought)
    if common not in _MEASURED and 0 not in getattr(sought, "shape", ()):
        raise errors.not_implemented_for("searchsorted_out_cpu", common)
    if common in dt.HALVES:
        common = dt.float32
    arrays = [converted(t, common, backend) for t in (sequence, sought)]
    return [*arrays, *rest, None if sorter is None else sorter._array], None


def _into_places(out: Any, apply: Callable[..., Any], values: Sequence[Any], name: str) -> Any:
    places = apply(*values)
    if out.dtype is not places.dtype:
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) "
            "depending on whether out_int32 flag is True, but we got output tensor's dtype "
            f"{out.dtype.legacy} and out_int32 flag is {places.dtype is dt.int32}"
        )
    write_out(out, places)
    return out


_require = requirement("torch.searchsorted(): ")


def _check_search(
    sequence: Tensor, sought: Any, out_int32: bool, right: bool, side: str | None, sorter: Tensor | None
) -> None:
    shape, wanted = list(sequence.shape), list(sought.shape) if isinstance(sought, Tensor) else []
    _require(side in (None, "left", "right"), f"side can only be 'left' or 'right' but got {side}")
    _require(
        not (right and side == "left"),
        "side and right can't be set to opposites, got side of left while right was True",
    )
    _require(
        len(shape) == 1 or bool(wanted),
        "input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor "
        f"dim({len(shape)}) and input value's dim(0) numel(1)",
    )
    _require(bool(shape), "boundaries tensor should have positive dimension, but got 0 dimension")
    _require(
        len(shape) == 1 or shape[:-1] == wanted[:-1],
        "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value "
        f"tensor must match, but we got boundaries tensor {shape} and input value tensor {wanted}",
    )
    if sorter is not None:
        _require(
            list(sorter.shape) == shape,
            "boundary and sorter must have the same size, but got boundary tensor "
            f"{shape}and got sorter tensor {list(sorter.shape)}",
        )
        _require(sorter.dtype is dt.int64, f"sorter must be a tensor of long dtype but got dtype {sorter.dtype.legacy}")
    given = {"input value": sought, "boundary": sequence, "sorter": sorter}
    tensors = {name: t for name, t in given.items() if isinstance(t, Tensor)}
    if any([t._backend.lazy for t in tensors.values()]):
        return  # what is computed of them is looked at
    for name, t in tensors.items():
        if t._backend.layout is strided and not t.is_contiguous():
            warn_once(
                f"torch.searchsorted(): {name} tensor is non-contiguous, this will lower the performance due to extra "
                f"data copy when converting non-contiguous tensor to contiguous, please use contiguous {name} tensor "
                "if possible. This message will only appear once per program."
            )


_SEARCH: dict[str, Any] = {
    "prepare": _measured, "into": lambda op, out, values: _into_places(out, op.apply, values, op.name),
}  # fmt: skip
_HOW = "bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None"
_in_rows = Op(f"_searchsorted(Tensor sorted_sequence, Tensor self, *, {_HOW})", _search, batch=LEADING, **_SEARCH)


def _row_by_row(sequence: Tensor, sought: Any, *how: Any) -> Tensor:
    """The same with as many rows of values as of sequences, so that a batch is only more rows."""
    values = sought if isinstance(sought, Tensor) else full((), sought)
    rows = values.reshape(-1) if sequence.dim() == 1 else values
    return _in_rows.apply(sequence, rows, *how).reshape(values.shape)


searchsorted = Op(
    f"searchsorted(Tensor sorted_sequence, Operand self, *, {_HOW})", _search, check=_check_search, batch=_row_by_row,
    **_SEARCH,
)  # fmt: skip
publish(searchsorted, method=False)


@published_whole(
    "bucketize(Operand self, Tensor boundaries, *, bool out_int32=False, bool right=False)", "Tensor", method=False,
    into=_into_places,
)  # fmt: skip
def bucketize(input: Any, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    """The number of the interval between neighbouring boundaries in which each element lies."""
    for t in (input, boundaries):
        if isinstance(t, Tensor) and t._backend.layout is not strided:
            kind = "Tensor" if isinstance(input, Tensor) else "Scalar"
            raise errors.missing_kernel_of(f"bucketize.{kind}", t._backend.real)
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted.apply(boundaries, input, out_int32, right, None, None)


describe(
    argsort="The indices that sort a tensor along a dimension.",
    kthvalue="The `k`-th smallest element along a dimension, and its index: `(values, indices)`.",
    searchsorted="""Where numbers would have to stand in a sorted sequence so that it stays sorted.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([0, 3, 6]))
    tensor([0, 1, 3])
    """,
    sort="""The elements sorted along a dimension, and where they were: `(values, indices)`.

    >>> torch.tensor([3, 1, 2]).sort().indices
    tensor([1, 2, 0])
    """,
    topk="""The `k` largest (or smallest) elements along a dimension, and where they are: `(values, indices)`.

    >>> torch.tensor([3, 9, 4]).topk(2).values
    tensor([9, 4])
    """,
)
