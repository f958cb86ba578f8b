"""Distinct elements and slices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...core.declare import Op, publish, published
from ...core.machine import DYNAMIC, Tensor
from ...core.values import Array, Backend, Namespace, dt, errors

if TYPE_CHECKING:
    from collections.abc import Callable


def runs(xp: Namespace, starts: Any) -> tuple[Any, Any, Any]:
    """Of runs of equals, given where each starts: the first places, the run of each element, and the lengths."""
    firsts = xp.flatnonzero(starts)
    ends = xp.concatenate([firsts[1:], xp.full(1, len(starts), firsts.dtype)]) if len(firsts) else firsts
    return firsts, xp.cumsum(starts, dtype=xp.int64) - 1, ends - firsts


def _slices(xp: Namespace, array: Array, dim: int) -> tuple[Any, Any]:
    """The array with `dim` first, and its slices along `dim` as rows of a matrix."""
    if not array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    moved = xp.moveaxis(array, errors.wrap_dim(dim, array.ndim), 0)
    if array.shape.count(0) > 1:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied")
    if not array.size and moved.shape[0]:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return moved, moved.reshape(len(moved), math.prod(moved.shape[1:]))


def _starts(xp: Namespace, rows: Array) -> Any:
    """Whether each row differs from the one before it."""
    starts = xp.ones(len(rows), bool)
    starts[1:] = (rows[1:] != rows[:-1]).any(1)
    return starts


def _unique_rows(xp: Namespace, rows: Array, order: Any | None) -> tuple[Any, Any, Any]:
    """Which rows to take, the place of each row among those, and how often each stands there."""
    if order is None:
        return runs(xp, _starts(xp, rows))
    firsts, groups, counts = runs(xp, _starts(xp, rows[order]))
    inverse = xp.empty(len(rows), xp.int64)
    inverse[order] = groups
    return order[firsts], inverse, counts


def _lexicographic(xp: Namespace, rows: Array) -> Array:
    return xp.lexsort(xp.ascontiguousarray(rows.T[::-1])) if rows.shape[1] else xp.arange(len(rows))


def _unique(xp: Namespace, array: Array, *flags: bool) -> tuple[Any, Any, Any]:
    flat = array.reshape(-1)
    chosen, inverse, counts = _unique_rows(xp, flat.reshape(-1, 1), xp.argsort(flat, kind="stable"))
    return flat[chosen], inverse.reshape(array.shape), counts


def _unique_dim(xp: Namespace, array: Array, dim: int, *flags: bool) -> tuple[Any, Any, Any]:
    moved, rows = _slices(xp, array, dim)
    chosen, inverse, counts = _unique_rows(xp, rows, _lexicographic(xp, rows))
    return xp.moveaxis(moved[chosen].copy("C"), 0, dim), inverse, counts


def _unique_consecutive(
    xp: Namespace, array: Array, inverse: bool, counts: bool, dim: int | None
) -> tuple[Any, Any, Any]:
    if dim is None:
        flat = array.reshape(-1)
        chosen, places, lengths = _unique_rows(xp, flat.reshape(-1, 1), None)
        return flat[chosen], places.reshape(array.shape), lengths
    moved, rows = _slices(xp, array, dim)
    chosen, places, lengths = _unique_rows(xp, rows, None)
    return xp.moveaxis(moved[chosen].copy("C"), 0, dim), places, lengths


def _ordered(op: Op, values: Any, backend: Backend) -> tuple[Any, ...]:
    t: Tensor = values[0]
    if t.dtype.is_complex or t.dtype in dt.EIGHT_BITS:
        raise errors.not_implemented_for("unique_dim" if op.signature.name == "unique_dim" else "unique", t.dtype)
    array = backend.cast(t._array, dt.float32.numpy) if t.dtype is dt.bfloat16 else t._array
    return [array, *values[1:]], (t.dtype, dt.int64, dt.int64)


def _declare(schema: str, kernel: Callable[..., Any]) -> Op:
    """Differentiable in name only, as in PyTorch: its node raises."""

    def refuse(g: Tensor) -> Any:
        raise NotImplementedError(f"the derivative for '{op.signature.name}' is not implemented.")

    results = "(Tensor result0, Tensor result1, Tensor result2)"
    op = Op(f"{schema} -> {results}", kernel, refuse, prepare=_ordered, batch=DYNAMIC)
    return op


_FLAGS = "bool sorted=True, bool return_inverse=False, bool return_counts=False"
unique2 = _declare(f"_unique2(Tensor self, {_FLAGS})", _unique)
unique_dim = _declare(f"unique_dim(Tensor self, int dim, {_FLAGS})", _unique_dim)
consecutive = _declare(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)",
    _unique_consecutive,
)
publish(unique2, method=False)


def _asked(results: tuple[Tensor, ...], return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = results
    asked = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return asked if len(asked) > 1 else values


@published(f"unique(Tensor self, {_FLAGS}, int? dim=None) -> any")
def unique(input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    """The distinct elements, or slices along `dim`, in order.

    And, if asked: where among them each element is, and how often it stands there.
    """
    flags = (sorted, return_inverse, return_counts)
    results = unique2.apply(input, *flags) if dim is None else unique_dim.apply(input, dim, *flags)
    return _asked(results, return_inverse, return_counts)


@published("unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> any")
def unique_consecutive(input: Tensor, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    """The elements, or slices along `dim`, without those that equal the one before them."""
    return _asked(consecutive.apply(input, return_inverse, return_counts, dim), return_inverse, return_counts)
