"""Masks: `masked_fill`, `masked_select`, `masked_scatter`; and where a tensor is not zero."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Signature, describe, function, method, publish, published, published_whole, sum_to
from ...core.machine import BROADCAST, DYNAMIC, Tensor, TensorBase, dispatch, functions, needs_dispatch, refuse_batch
from ...core.native import in_c
from ...core.state import is_watched
from ...core.values import Array, Backend, Namespace, broadcast_shapes, dt, preserve_format, warn, within
from ..pointwise.selection import where
from .writing import Picking, Writing, not_boolean

# ---- masked_fill


def _check_one_value(value: Any) -> None:
    if isinstance(value, TensorBase) and value.dim():
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )


def _check_fill(self: Tensor, mask: Tensor, value: Any) -> None:
    broadcast_shapes(tuple(mask.shape), tuple(self.shape))
    _check_one_value(value)
    if mask.dtype is not dt.bool_:
        raise not_boolean(mask)


def _check_fill_in_place(self: Tensor, mask: Tensor, value: Any) -> None:
    _check_one_value(value)
    if mask.dtype is not dt.bool_:
        raise not_boolean(mask)


def _read_to_fill(self: Tensor, mask: Tensor, value: Any) -> tuple[Tensor]:
    broadcast_shapes(tuple(self.shape), tuple(mask.shape))  # which is told of after expanded memory is
    return (mask,)


def _filled(xp: Namespace, self: Array, mask: Any, value: Any) -> Any:
    result = xp.where(mask, value, self)
    return result if result.flags.c_contiguous else result.copy("C")


def _fill(xp: Namespace, self: Array, mask: Array, value: Any) -> None:
    within(self.shape, mask.shape)
    xp.copyto(self, value, where=mask)


def _outside(g: Tensor, self_shape: Any, mask: Tensor) -> Tensor:
    return sum_to(g.masked_fill(mask, 0), self_shape)


# The value is read before anything is written.
_IN_PLACE: dict[str, Any] = {
    "reads": _read_to_fill, "repeats": True, "exclusive": False,
    "warns": lambda *_: {"masked_fill": "mask] = scalar"}, "check_in_place": _check_fill_in_place,
}  # fmt: skip
masked_fill_scalar = Writing(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value)",
    in_c("masked_fill.write", _fill),
    {"self": _outside, "mask": None},
    kernel=_filled, check_form=_check_fill, **_IN_PLACE, batch=BROADCAST, shows="",
)  # fmt: skip
masked_fill_tensor = Writing(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value)",
    in_c("masked_fill.write", _fill),
    {
        "self": _outside,
        "mask": None,
        "value": lambda g, mask: g.masked_fill(mask.logical_not(), 0).sum(),
    },
    kernel=_filled, check_form=_check_fill, **_IN_PLACE, node="MaskedFillBackward1",
    batch=lambda self, mask, value: where(mask, value.to(self.dtype), self), shows="",
)  # fmt: skip
publish(masked_fill_tensor, masked_fill_scalar, inplace=True)


# ---- masked_select


def _check_select(self: Tensor, mask: Tensor) -> None:
    if mask.dtype is not dt.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")


def _select(xp: Namespace, self: Array, mask: Array) -> Any:
    if self.shape != mask.shape:
        shape = broadcast_shapes(mask.shape, self.shape)
        self, mask = xp.broadcast_to(self, shape), xp.broadcast_to(mask, shape)
    return self[mask]


def _select_backward(g: Tensor, self: Tensor, mask: Tensor) -> Tensor:
    shape = broadcast_shapes(self._array.shape, mask._array.shape)
    empty = functions["zeros_like"](self.expand(shape), memory_format=preserve_format)
    made = empty.masked_scatter(mask, g) if is_watched() else empty.masked_scatter_(mask, g)
    return sum_to(made, self._array.shape)


def _select_by_index(self: Tensor, mask: Tensor) -> Tensor:
    if mask._backend.level >= self._backend.level:
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
            "each batch this would return a differently shaped Tensor. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        )
    shape = broadcast_shapes(tuple(self.shape), tuple(mask.shape))
    return self.expand(shape)[mask.expand(shape)]


masked_select = Picking(
    "masked_select(Tensor self, Tensor mask)", _select, {"self": _select_backward, "mask": None}, check=_check_select,
    check_out=lambda out, values: _check_select(*values), linear=True, batch=_select_by_index,
)  # fmt: skip
publish(masked_select)


# ---- masked_scatter


def _check_scatter(self: Tensor, mask: Tensor, source: Tensor) -> None:
    broadcast_shapes(tuple(mask.shape), tuple(self.shape))
    _check_scattered_dtypes(self, mask, source)


def _check_scatter_in_place(self: Tensor, mask: Tensor, source: Tensor) -> None:
    if self.dtype is source.dtype:
        mask.expand(self.shape)  # which says what does not fit
    _check_scattered_dtypes(self, mask, source)


def _check_scattered_dtypes(self: Tensor, mask: Tensor, source: Tensor) -> None:
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{self.dtype.legacy} and "
            f"{source.dtype.legacy}"
        )
    if mask.dtype is dt.uint8:
        warn(
            "masked_scatter_ received a mask with dtype torch.uint8, this behavior is now deprecated,please use a mask "
            "with dtype torch.bool instead."
        )
    if mask.dtype is not dt.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.legacy}")


def _scatter(xp: Namespace, self: Array, mask: Array, source: Array) -> None:
    within(self.shape, mask.shape)
    mask = xp.broadcast_to(mask, self.shape)
    count = int(xp.count_nonzero(mask).item())
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    self[mask] = source.reshape(-1)[:count]


def _scattered(xp: Namespace, self: Array, mask: Array, source: Array) -> Any:
    result = xp.broadcast_to(self, broadcast_shapes(mask.shape, self.shape)).copy("C")
    _scatter(xp, result, mask, source)
    return result


@published_whole(
    "masked_scatter_backward(Tensor grad_output, Tensor mask, int[] sizes)", recorded=True, function=False, method=False
)
def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Any) -> Tensor:
    """What a gradient holds where the mask is True, in a tensor of these sizes that ends in zeros."""
    used = grad_output.masked_select(mask)
    whole = grad_output.new_zeros(math.prod(sizes))
    whole[: used.numel()] = used
    return whole.reshape(sizes)


def _gathered(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The same by the place in the source of each element that the mask lets through."""
    shape = broadcast_shapes(tuple(self.shape), tuple(mask.shape))
    mask = mask.expand(shape)
    places = (mask.reshape(-1).cumsum(0) - 1).clamp(0)
    return where(mask, source.reshape(-1).gather(0, places).reshape(shape), self)


masked_scatter = Writing(
    "masked_scatter(Tensor self, Tensor mask, Tensor source)",
    _scatter,
    {
        "self": _outside, "mask": None,
        "source": lambda g, mask, source_shape: masked_scatter_backward(g, mask, source_shape),
    },
    kernel=_scattered, check=_check_scatter, check_in_place=_check_scatter_in_place, linear=True, batch=_gathered,
    reads=lambda self, mask, source: (mask,), exclusive=False,  # the source is read before
    shows="source_sym_sizes",
)  # fmt: skip
publish(masked_scatter, inplace=True)


# ---- where it is not zero


def _nonzero(backend: Backend, self: Array) -> Any:
    """Found dimension by dimension, so that each one's places lie side by side, in `out=` too where it is resized."""
    found = backend.xp.argwhere(self)
    return backend.ordered(found, (1, len(found)))


_FOUND: dict[str, Any] = {"on_backend": True, "lays": True, "elementwise": True, "gives": dt.int64}
nonzero_op = Picking("nonzero(Tensor self)", _nonzero, batch=DYNAMIC, **_FOUND)


_NONZERO = Signature("nonzero(Tensor self, *, bool as_tuple=False)")


@function("nonzero")
@method("nonzero")
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The places of the elements that are not zero: a row for each, or a vector for each dimension."""
    if needs_dispatch((input, out), {}):
        return dispatch(nonzero, (input,), {"out": out, "as_tuple": as_tuple})
    if as_tuple.__class__ is not bool or not isinstance(input, TensorBase):
        _NONZERO.bind((input,), {"as_tuple": as_tuple})
    if out is not None:
        return nonzero_op.into(out, (input,))
    if not as_tuple:
        return nonzero_op.apply(input)
    refuse_batch((input,), "Batching rule not implemented for aten::nonzero_numpy. We could not generate a fallback.")
    if not input.dim():
        input = input.unsqueeze(0)
    return tuple(nonzero_op.apply(input).unbind(1))


publish(Picking("argwhere(Tensor self)", _nonzero, seen_as=lambda self: ("nonzero", (self,)), **_FOUND))


def _nonzero_static(xp: Namespace, self: Array, size: int, fill_value: int) -> Any:
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = xp.argwhere(self)[:size]
    result = xp.full((size, self.ndim), fill_value, dtype=found.dtype)
    result[: len(found)] = found
    return result


publish(Picking("nonzero_static(Tensor self, *, int size, int fill_value=-1)", _nonzero_static, gives=dt.int64))


@published("fill_diagonal_(Tensor self, Scalar fill_value, bool wrap=False)", function=False)
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool) -> Tensor:
    """Set the elements whose indices are all equal; in a tall matrix, `wrap` begins anew below the last column."""
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    rows, columns = self.shape[0], self.shape[1]
    count = min(self.shape)
    self.as_strided((count,), (step,), self.storage_offset()).fill_(fill_value)
    if wrap and self.dim() == 2 and rows > columns + 1:
        offset = self.stride(0) * (columns + 1)
        left = (rows * columns - offset // max(self.stride(1), 1) + columns) // (columns + 1)
        self.as_strided((left,), (step,), self.storage_offset() + offset).fill_(fill_value)
    return self


describe(
    argwhere="The indices of the elements that are not zero, one row for each.",
    masked_fill="""A copy with a value where the mask is true.

    >>> torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), 0)
    tensor([0, 2])
    """,
    masked_scatter="A copy with elements of `source`, in their order, where the mask is true.",
    masked_select="The elements where the mask is true, as a vector.",
    nonzero_static="The indices of elements that are not zero, in a result of a size known beforehand.",
)
