"""`index` and `index_put`: reading and writing at places that tensors of integers and masks name."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import Op, Signature, aten, describe, publish, published, sum_to
from ...core.machine import Tensor, array_of, fitting_array, refuse_rare
from ...core.state import is_watched
from ...core.values import dtype as dt
from ...core.values.arrays import Array, Backend, Namespace, or_own
from ...core.values.errors import expands, rather, warn
from ...core.values.layout import contiguous_strides, reshaped_strides, result_strides
from ..formulas import options, zeros
from ..shapes.orders import inverse
from .writing import Writing, check_range, combine, from_front, not_boolean, out_of_bounds

_INDEX_TYPES = (dt.int64, dt.bool_, dt.int32, dt.uint8)


def _check(self: Tensor, indices: Sequence[Tensor | None], *_: Any) -> None:
    if not indices:
        raise IndexError("at least one index must be provided")
    for index in indices:
        if index is not None and index.dtype not in _INDEX_TYPES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    count = sum([_width(index._array) if index is not None else 1 for index in indices])
    if count > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {count})")


def _width(index: Any) -> int:
    """The number of dimensions that an index consumes."""
    return index.ndim if index.dtype.kind == "b" or index.dtype.itemsize == 1 else 1


@functools.cache
def _raises(xp: Namespace) -> bool:
    """Whether arrays of this library notice when an index is out of range."""
    try:
        xp.arange(1)[xp.asarray([1])]
    except IndexError:
        return True
    return False


def _located(xp: Namespace, shape: tuple[int, ...], indices: Sequence[Any]) -> tuple[Any, ...]:
    """The indices as an array takes them: slices for None, and masks that fit."""
    places: list[Any] = []
    dim = 0
    for index in indices:
        if index is None:
            index = slice(None)
            dim += 1
        elif index.dtype.kind == "b" or index.dtype.itemsize == 1:
            if index.dtype.kind != "b":
                warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
                index = index.astype(bool)
            _check_mask(shape, index.shape, dim)
            dim += index.ndim
        else:
            dim += 1
        places.append(index)
    if 0 in shape:
        places = _unread(xp, shape, places)
    if not _raises(xp):
        _check_bounds(xp, shape, places)
    return tuple(places)


def _unread(xp: Namespace, shape: tuple[int, ...], places: Sequence[Any]) -> list[Any]:
    """The same places, but for numbers where nothing is picked: PyTorch does not read them then."""
    dims = list(itertools.accumulate([p.ndim if _is_mask(p) else 1 for p in places], initial=0))
    whole = [d for d, p in zip(dims, places) if p.__class__ is slice]
    if all([shape[d] for d in (*whole, *range(dims[-1], len(shape)))]):
        return list(places)
    return [
        p if p.__class__ is slice or _is_mask(p) or not shape[d] else xp.zeros_like(p) for d, p in zip(dims, places)
    ]


def _is_mask(place: Any) -> bool:
    return place.__class__ is not slice and place.dtype.kind == "b"


def _check_mask(shape: tuple[int, ...], mask: tuple[int, ...], dim: int) -> None:
    for k, n in enumerate(mask):
        if n != shape[dim + k]:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {k} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {dim + k}"
            )


def _check_bounds(xp: Namespace, shape: tuple[int, ...], places: Sequence[Any]) -> None:
    """Refuse numbers that are out of bounds: where places are named by several, of the first such place."""
    numbers: list[tuple[Any, int, int]] = []  # each with the size that bounds it, and what errors call its dimension
    dim = nr = 0
    for place in places:
        if place.__class__ is slice:
            dim += 1
        elif place.dtype.kind == "b":
            dim += place.ndim
            nr += place.ndim
        elif not shape[dim] and place.size:
            raise IndexError("index is out of bounds for dimension with size 0")
        else:
            numbers.append((place, shape[dim], nr))
            dim += 1
            nr += 1
    try:
        for place, size, nr in numbers:
            check_range(xp, place, size, out_of_bounds(nr, size), -size)
    except IndexError:
        if not xp.broadcast_arrays(*[p for p in _whole_numbers(places) if p.__class__ is not slice])[0].size:
            return  # no place is named, by whatever numbers
        wide = xp.broadcast_arrays(*[place for place, _, _ in numbers])
        wrong = xp.stack([(p < -size) | (p >= size) for p, (_, size, _) in zip(wide, numbers)], -1).reshape(-1)
        at, which = divmod(int(wrong.argmax()), len(numbers))
        raise out_of_bounds(numbers[which][2], numbers[which][1])(int(wide[which].reshape(-1)[at])) from None


def _check_together(xp: Namespace, shape: tuple[int, ...], places: Sequence[Any], values: Any = None) -> None:
    """Raise PyTorch's error for places that an array refused, or for values that do not fit them."""
    _check_shapes(xp, shape, places, values)
    _check_bounds(xp, shape, places)


def _check_shapes(xp: Namespace, shape: tuple[int, ...], places: Sequence[Any], values: Any = None) -> None:
    numbers = _whole_numbers(places)
    shapes = [p.shape for p in numbers if p.__class__ is not slice]
    try:
        wide = xp.broadcast_arrays(*[xp.empty(s) for s in shapes])[0].shape
    except ValueError:
        said = ", ".join(str(list(s)) for s in shapes)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {said}"
        ) from None
    picked = [d for d, p in enumerate(numbers) if p.__class__ is not slice]
    if 0 not in wide and 0 in [shape[d] for d in picked]:
        raise IndexError("index is out of bounds for dimension with size 0")
    if values is not None:
        rest = [n for d, n in enumerate(shape) if d not in picked]
        made = (*wide, *rest)
        made = tuple([made[d] for d in _order(picked, len(wide), len(rest))])
        if not expands(values.shape, made):
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
                f"shape {list(made)}"
            )


def _whole_numbers(places: Sequence[Any]) -> list[Any]:
    """Masks replaced by the places where they are true."""
    numbers: list[Any] = []
    for place in places:
        if place.__class__ is not slice and place.dtype.kind == "b" and place.ndim:
            numbers.extend(place.nonzero())
        else:
            numbers.append(place)
    return numbers


# ---- reading


def _index(xp: Namespace, self: Array, indices: Sequence[Any]) -> Any:
    places = _located(xp, self.shape, indices)
    picked = [d for d, p in enumerate(places) if p.__class__ is not slice]
    only = places[picked[0]]
    try:
        if len(picked) == 1 and (only.dtype.kind != "b" or only.ndim == 1):
            return self.take(xp.flatnonzero(only) if only.dtype.kind == "b" else only, picked[0])
        result = self[places]
    except IndexError:
        rather(_check_together, xp, self.shape, places)
        raise
    return result if result.flags.c_contiguous and result.base is not self else result.copy("C")


def _index_backward(g: Tensor, self_shape: Any, indices: Sequence[Tensor | None]) -> Tensor:
    write: Any = index_put.apply if is_watched() else lambda *values: index_put.apply_in_place([*values])
    return write(g.new_zeros(self_shape, **options(g)), indices, g, True)


def _by_rows(self: Tensor, indices: Sequence[Tensor | None]) -> tuple[Tensor, list[int], list[int], Tensor]:
    """The tensor as rows, one for each place that indices may name; its dimensions that are picked from and those that
    are not; and the numbers of the rows that are named."""
    places: list[Tensor | None] = []
    for i in indices:
        if i is None or (_width(i._array) == 1 and i.dtype.category == dt.INT and i.dtype is not dt.uint8):
            places.append(i)
        elif i._backend.level >= self._backend.level:
            raise RuntimeError(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
                "indexing with a boolean mask."
            )
        else:
            places.extend(i.nonzero().unbind(1))
    picked = [d for d, place in enumerate(places) if place is not None]
    rest = [d for d in range(self.dim()) if d not in picked]
    number: Any = 0
    for d in picked:
        n = self.shape[d]
        number = number * n + from_front(places[d], n)
    rows = self.permute([*picked, *rest]).reshape((-1, *[self.shape[d] for d in rest]))
    return rows, picked, rest, number


def _order(picked: list[int], ndim: int, count: int) -> list[int]:
    """How the dimensions of rows that were picked, `ndim` for the pick and the rest after that, are to be ordered.

    Those of the pick stand where the first picked one stood, or in front when these are apart.
    """
    together = picked[-1] - picked[0] == len(picked) - 1
    at = picked[0] if together else 0
    return [*range(ndim, ndim + at), *range(ndim), *range(ndim + at, ndim + count)]


def _index_by_gather(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    rows, picked, rest, number = _by_rows(self, indices)
    made = rows.index_select(0, number.reshape((-1,)))
    made = made.reshape((*number.shape, *made.shape[1:]))
    return made.permute(_order(picked, number.dim(), len(rest)))


def _arranged_pick(op: Op, outputs: Any, values: Sequence[Any]) -> Any:
    """The kept dimensions of the result lie in memory in the order that they have in the operand."""
    backend = values[0]._backend.real
    array, indices = array_of(values[0]), array_of(values[1])
    in_order = array.flags.c_contiguous and 1 not in array.shape and 0 not in outputs.shape
    if in_order or not backend.strided or outputs.__class__ is not backend.Array:
        return outputs
    return backend.ordered(outputs, _strides_of_pick(backend, array, indices, outputs.shape))


def _strides_of_pick(backend: Backend, array: Array, indices: Sequence[Any], shape: tuple[int, ...]) -> tuple[int, ...]:
    """PyTorch walks through the operand, with steps of zero where it is picked from, and the indices together."""
    picked: list[int] = []
    at = 0
    for i in indices:
        width = 1 if i is None else _width(i)
        picked.extend(range(at, at + width) if i is not None else ())
        at += width
    kept = [s for d, s in enumerate(backend.strides(array)) if d not in picked]
    lead = picked[0] if picked[-1] - picked[0] == len(picked) - 1 else 0
    after = len(kept) - lead
    wide = shape[lead : len(shape) - after]
    operands = [(shape, (*kept[:lead], *(0,) * len(wide), *kept[lead:]))]
    spread = (*(1,) * lead, *wide, *(1,) * after)
    for i in indices:
        if i is not None:
            mask = i.dtype.kind == "b" or i.dtype.itemsize == 1  # stands for lists of positions
            size, steps = (wide[-1:], (1,)) if mask else (i.shape, backend.strides(i))
            own = [0 if n == 1 and wide[d - len(size)] != 1 else steps[d] for d, n in enumerate(size)]
            steps = (*(0,) * (len(wide) - len(size)), *own)
            operands.append((spread, reshaped_strides(wide, steps, spread) or contiguous_strides(spread)))
    return result_strides(shape, tuple(operands))


index = Op(
    "index.Tensor(Tensor self, Tensor?[] indices)",
    _index,
    {"self": _index_backward, "indices": None},
    check_form=_check, linear=True, batch=_index_by_gather, arranged=_arranged_pick,
)  # fmt: skip


# ---- writing


def _fills(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool) -> bool:
    """Whether one value is put where one mask is true, which is to fill, and takes no mask of bytes."""
    given = [(dim, i) for dim, i in enumerate(indices) if i is not None]
    if accumulate or values.numel() != 1 or len(given) != 1 or given[0][1].dtype not in (dt.bool_, dt.uint8):
        return False
    ((dim, mask),) = given
    if mask.dtype is dt.uint8:
        _check_mask(self.shape, mask.shape, dim)
        raise not_boolean(mask)
    return True


def _check_put(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool) -> None:
    _check(self, indices)
    if _fills(self, indices, values, accumulate):
        if values.dtype is not self.dtype:
            fitting_array(values, self.dtype, self._backend.real)
        refuse_rare("masked_fill.Scalar", self.dtype, (self, indices, values))


def _index_put(xp: Namespace, self: Array, indices: Sequence[Any], values: Array, accumulate: bool) -> None:
    places = _located(xp, self.shape, indices)
    if values.dtype != self.dtype:
        masks = [i for i in indices if i is not None]
        if accumulate or values.size != 1 or len(masks) != 1 or masks[0].dtype.kind != "b":
            _check_shapes(xp, self.shape, places, values)
            have, given = [dt.of_numpy(array.dtype).legacy for array in (self, values)]
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {have} for the destination and "
                f"{given} for the source."
            )
        values = values.astype(self.dtype)  # one value for a mask
    picked = [(dim, place) for dim, place in enumerate(places) if place.__class__ is not slice]
    one_mask = len(picked) == 1 and picked[0][1].dtype.kind == "b"
    try:
        if one_mask and values.size == 1 and not accumulate:
            ((dim, mask),) = picked
            beside = (1,) * (self.ndim - dim - mask.ndim)
            xp.copyto(self, values.reshape(()), where=mask.reshape((*mask.shape, *beside)))
        elif not accumulate:
            if values.ndim > 1 and values.shape[0] == 1:  # which NumPy leaves out where there are too many dimensions
                _check_shapes(xp, self.shape, places, values)
            self[places] = values
        elif one_mask:
            self[places] += values  # a mask names no place twice
        else:
            _accumulate(xp, self, places, values)
    except (IndexError, TypeError, ValueError):
        rather(_check_together, xp, self.shape, places, values)
        raise


@or_own
def _accumulate(xp: Namespace, self: Array, places: Sequence[Any], values: Any) -> None:
    _check_together(xp, self.shape, places, values)
    places = _whole_numbers(places)
    picked = [d for d, p in enumerate(places) if p.__class__ is not slice]
    rest = [d for d in range(self.ndim) if d not in picked]
    index: Any = 0
    for d in picked:
        index = index * self.shape[d] + from_front(places[d], self.shape[d])
    target = self.transpose((*picked, *rest))
    beside = target.shape[len(picked) :]
    shape = (*index.shape, *beside)
    order = _order(picked, index.ndim, len(rest))
    values = xp.broadcast_to(values, [shape[d] for d in order]).transpose(inverse(order))
    rows = target.reshape((math.prod([self.shape[d] for d in picked]), *beside))
    combine(xp, "add", rows, index.reshape(-1), values.reshape((index.size, *beside)))
    if not xp.may_share_memory(rows, self):
        target[...] = rows.reshape(target.shape)


def _kept(g: Tensor, indices: Sequence[Tensor | None], values_shape: tuple[int, ...], accumulate: bool) -> Tensor:
    return g if accumulate else index_put.apply(g, indices, zeros(g, values_shape if is_watched() else ()), False)


def _put_by_scatter(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool) -> Tensor:
    rows, picked, rest, number = _by_rows(self, indices)
    order = _order(picked, number.dim(), len(rest))
    shape = (*number.shape, *rows.shape[1:])
    values = values.to(self.dtype).expand([shape[d] for d in order])
    values = values.permute(inverse(order)).reshape((-1, *rows.shape[1:]))
    put = rows.index_add if accumulate else rows.index_copy
    made = put(0, number.reshape((-1,)), values)
    order = [*picked, *rest]
    made = made.reshape([self.shape[d] for d in order])
    return made.permute(inverse(order))


_MASKED = {"masked_fill": "mask] = scalar"}  # what one value for a mask comes to
index_put = Writing(
    "index_put(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False)",
    _index_put,
    {
        "self": _kept,
        "indices": None,
        "values": lambda g, indices, values_shape: sum_to(index.apply(g, indices), values_shape),
    },
    order="K",
    check=_check_put,
    reads=lambda self, indices, values, accumulate: (  # one value is read before
        (indices,) if _fills(self, indices, values, accumulate) else (indices, values)
    ),
    exclusive=lambda self, indices, values, accumulate: not _fills(self, indices, values, accumulate),
    repeats=True,
    warns=lambda self, indices, values, accumulate: {
        "index_put": "indices] = tensor", **(_MASKED if _fills(self, indices, values, accumulate) else {}),
    },
    linear=True, batch=_put_by_scatter, shows="accumulate",
)  # fmt: skip
publish(index_put, inplace=True)

# As overloads, they take gaps.
_gapped = Signature("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)")
aten["index_put"] = lambda *args, **kwargs: index_put.apply(*_gapped.bind(args, kwargs))
aten["index_put_"] = lambda *args, **kwargs: index_put.apply_in_place(_gapped.bind(args, kwargs))


# ---- reading and writing where a mask says that the place exists


def _within(self: Tensor, indices: Sequence[Tensor]) -> list[Tensor]:
    """The indices, with those out of range moved to the nearest place."""
    return [i.clamp(-n, n - 1) for i, n in zip(indices, self.shape, strict=False)]


@published("_unsafe_masked_index(Tensor self, Tensor mask, Tensor[] indices, Scalar fill)", method=False)
def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: Sequence[Tensor], fill: Any) -> Tensor:
    """`self[indices]` where the mask is true, `fill` elsewhere."""
    if not self.numel():
        return self.new_full((*mask.shape, *self.shape[len(indices) :]), fill)
    return index.apply(self, _within(self, indices)).masked_fill(mask.logical_not(), fill)


@published(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor[] indices, Tensor values)", method=False
)
def _unsafe_masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: Sequence[Tensor], values: Tensor
) -> Tensor:
    """`self` with `values` added at `indices` where the mask is true."""
    if not self.numel():
        return self.clone()
    return index_put.apply(self, _within(self, indices), values.masked_fill(mask.logical_not(), 0), True)


describe(index_put="A copy with these values at `indices`; with `accumulate` they are added.")
