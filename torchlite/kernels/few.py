"""Kernels for few elements, made for calls of one form, as plans want them.

For few elements the time is in what NumPy sets up for a call. It sets up least where operands have one shape, so that
what is broadcast elsewhere is taken by places here; the largest are found by where they are, and sums are products
with ones. Whatever follows from the form alone is made once. What a kernel does not know it leaves to the general one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.values import Array
from .summing import FEW

_MOST = FEW * FEW  # elements
_SINGLE, _DOUBLE, _INT64, _BOOL = (np.dtype(name) for name in ("f4", "f8", "i8", "?"))
_FLOATS = (_SINGLE, _DOUBLE)

Kernel = Callable[..., Any]
Fit = Callable[..., Kernel | None]  # of the general kernel, and arguments for it


class ByForm:
    """A kernel in whose place there are others, for few elements; `fit` finds the one for arguments of a form."""

    def __init__(self, general: Kernel, fit: Fit) -> None:
        self.general, self.fit = general, fit

    def fitted(self, *arguments: Any) -> Kernel:
        return self.fit(self.general, *arguments) or self.general

    def __call__(self, *arguments: Any) -> Any:
        return self.fitted(*arguments)(*arguments)


@functools.lru_cache(256)
def _laid(rows: int, columns: int) -> tuple[Array, Array, Array]:
    """Where each row of a matrix begins, and for each element in which row and which column it stands."""
    row, column = np.indices((rows, columns))
    return np.arange(0, row.size, columns), row, column


@functools.lru_cache(256)
def _places(shape: tuple[int, ...], dim: int, wanted: tuple[int, ...]) -> Array:
    """Where in a tensor of a shape the elements of a corner of it are that are first along a dimension."""
    at = np.indices(wanted)
    at[dim] = 0
    return np.ravel_multi_index(tuple(at), shape)


@functools.lru_cache(256)
def _classes(count: int, ignored: int) -> frozenset[int]:
    return frozenset(range(count)).difference((ignored,))


def _is_few(array: Array, *dtypes: np.dtype) -> bool:
    return 0 < array.size <= _MOST and array.dtype in dtypes and array.flags.c_contiguous


def _has_short_rows(array: Array) -> bool:
    return _is_few(array, *_FLOATS) and array.ndim == 2 and array.shape[1] <= FEW


def _softmax(array: Array, logarithm: bool) -> Kernel:
    first, row, _ = _laid(*array.shape)
    ones = np.ones((array.shape[1],) * 2, array.dtype)

    def less_largest(array: Array) -> Array:
        return array - array.ravel()[first + array.argmax(1)][row]

    def softmax(array: Array, *_: Any) -> Array:
        result = less_largest(array)
        np.exp(result, result)
        return np.divide(result, result.dot(ones), result)

    def log_softmax(array: Array, *_: Any) -> Array:
        result = less_largest(array)
        total = np.exp(result).dot(ones)
        return np.subtract(result, np.log(total, total), result)

    return log_softmax if logarithm else softmax


def softmax(general: Kernel, array: Array, axis: int, *_: Any) -> Kernel | None:
    return _softmax(array, False) if _has_short_rows(array) and axis == 1 else None


def log_softmax(general: Kernel, array: Array, axis: int, *_: Any) -> Kernel | None:
    return _softmax(array, True) if _has_short_rows(array) and axis == 1 else None


def layer_norm(general: Kernel, input: Array, shape: Any, weight: Any, bias: Any, eps: float) -> Kernel | None:
    d = input.dtype
    if not _has_short_rows(input) or len(shape) != 1 or any([p is not None and p.dtype != d for p in (weight, bias)]):
        return None
    _, row, column = _laid(*input.shape)
    ones, count, least = np.ones((input.shape[1], 1), d), np.array(input.shape[1], d), np.array(eps, d)

    def kernel(input: Array, shape: Any, weight: Any, bias: Any, eps: float) -> tuple[Array, Array, Array]:
        mean = input.dot(ones)
        np.divide(mean, count, mean)
        hat = input - mean.ravel()[row]
        rstd = (hat * hat).dot(ones)
        np.divide(rstd, count, rstd)
        np.add(rstd, least, rstd)
        np.sqrt(rstd, rstd)
        np.reciprocal(rstd, rstd)
        np.multiply(hat, rstd.ravel()[row], hat)
        if weight is not None:
            np.multiply(hat, weight[column], hat)
        if bias is not None:
            np.add(hat, bias[column], hat)
        return hat, mean, rstd

    return kernel


def nll_loss(
    general: Kernel, self: Array, target: Array, weight: Any, reduction: int, ignore_index: int
) -> Kernel | None:
    """Where all classes count the same, and the losses of all rows make one number."""
    d = self.dtype
    known = _is_few(self, *_FLOATS) and self.ndim == 2 and len(self) <= FEW and target.dtype == _INT64
    if not known or weight is not None or not reduction:
        return None
    (first, *_), counted = _laid(*self.shape), np.array(len(self), d)
    wanted, divisor = _classes(self.shape[1], ignore_index), len(self) if reduction == 1 else 1

    def kernel(self: Array, target: Array, *rest: Any) -> tuple[Array, Array]:
        if not wanted.issuperset(target.tolist()):
            return general(self, target, *rest)
        return np.array((0 - sum(self.ravel()[first + target].tolist())) / divisor, d), counted.copy()

    return kernel


def gather(general: Kernel, self: Array, dim: int, index: Array, *_: Any) -> Kernel | None:
    known = _is_few(self, self.dtype) and 0 < index.size <= FEW and index.dtype == _INT64 and self.ndim
    if not known:
        return None
    dim %= self.ndim
    within, step = frozenset(range(self.shape[dim])), math.prod(self.shape[dim + 1 :])
    first = _places(self.shape, dim, index.shape)

    def kernel(self: Array, dim: int, index: Array, *rest: Any) -> Array:
        if not within.issuperset(index.ravel().tolist()):
            return general(self, dim, index, *rest)
        return self.ravel()[first + (index if step == 1 else index * step)]

    return kernel


def index(general: Kernel, self: Array, indices: Any) -> Kernel | None:
    """Where rows are picked."""
    (only, *more) = indices
    if more or only is None or not _is_few(self, self.dtype) or only.dtype != _INT64:
        return None

    def kernel(self: Array, indices: Any) -> Array:
        try:
            return self.take(indices[0], 0)
        except IndexError:
            return general(self, indices)  # which says what is wrong

    return kernel


def embedding(general: Kernel, weight: Array, indices: Array, *_: Any) -> Kernel | None:
    if not _is_few(weight, weight.dtype) or not 0 < indices.size <= FEW or indices.dtype != _INT64:
        return None
    within = frozenset(range(len(weight)))

    def kernel(weight: Array, indices: Array, *rest: Any) -> Array:
        if not within.issuperset(indices.ravel().tolist()):
            return general(weight, indices, *rest)
        return weight.take(indices, 0)

    return kernel


def _few_alike(arrays: Any) -> bool:
    first = arrays[0]
    return len(arrays) <= FEW and all([_is_few(a, first.dtype) and a.shape == first.shape for a in arrays])


def stack(general: Kernel, arrays: Any, dim: int) -> Kernel | None:
    return (lambda arrays, dim: np.array(arrays)) if dim == 0 and _few_alike(arrays) else None


def cat(general: Kernel, arrays: Any, dim: int) -> Kernel | None:
    known = 0 <= dim < arrays[0].ndim < 4 and _few_alike(arrays)  # those of images may lie otherwise
    return (lambda arrays, dim: np.concatenate(arrays, dim)) if known else None


def linear(general: Kernel, bias: Any, input: Array, weight: Array) -> Kernel | None:
    known = input.ndim == 2 and _is_few(input, *_FLOATS) and input.dtype == weight.dtype == bias.dtype
    if not known or bias.shape != (len(weight),) or len(input) * len(weight) > _MOST:
        return None
    column = _laid(len(input), len(weight))[2]

    def kernel(bias: Any, input: Array, weight: Array) -> Array:
        made = input.dot(weight.T)
        return np.add(made, bias[column], made)

    return kernel


def cumsum(general: Kernel, array: Array, axis: int) -> Kernel | None:
    if not _is_few(array, _SINGLE):
        return None
    add = np.add.accumulate
    return lambda array, axis: add(array.astype(_DOUBLE), axis).astype(_SINGLE)


def _extreme(which: str) -> Callable[..., Any]:
    place_of = getattr(np.ndarray, which)

    def fitted(general: Kernel, array: Array, axis: Any, keepdim: bool) -> Kernel | None:
        d = array.dtype
        if axis is not None or not _is_few(array, *_FLOATS, _INT64):
            return None

        def kernel(array: Array, axis: Any, keepdim: bool) -> Array:
            found = array.item(place_of(array))
            return np.array(found, d) if found else general(array, axis, keepdim)  # zeros may have either sign

        return kernel

    return fitted


def _extreme_along(which: str) -> Callable[..., Any]:
    place_of = getattr(np.ndarray, which)

    def fitted(general: Kernel, array: Array, axis: int, keepdim: bool) -> Kernel | None:
        if axis != 1 or keepdim or not _has_short_rows(array):
            return None
        first, *_ = _laid(*array.shape)

        def kernel(array: Array, axis: int, keepdim: bool) -> tuple[Array, Array]:
            places = place_of(array, 1)
            found = array.ravel()[first + places]
            if 0 in found.tolist():  # either sign
                return general(array, axis, keepdim)
            return found, places

        return kernel

    return fitted


def every(general: Kernel, array: Array, axis: Any, keepdim: bool) -> Kernel | None:
    if axis is not None or not _is_few(array, _BOOL):
        return None
    return lambda array, axis, keepdim: np.array(array.item(array.argmin()))


def lerp(general: Kernel, self: Array, end: Array, weight: Any) -> Kernel | None:
    d = self.dtype
    if not _is_few(self, *_FLOATS) or self.shape != end.shape or end.dtype != d:
        return None
    near = abs(weight) < 0.5
    share = np.array(weight if near else 1 - d.type(weight), d)

    def kernel(self: Array, end: Array, weight: Any) -> Array:
        step = np.subtract(end, self, np.empty_like(self))
        np.multiply(step, share, step)
        return np.add(self, step, step) if near else np.subtract(end, step, step)

    return kernel


def _moments(root: bool) -> Callable[..., Any]:
    def fitted(
        general: Kernel, array: Array, axis: Any, keepdim: bool, correction: float | None
    ) -> Kernel | None:
        freedom = array.size - (1 if correction is None else correction)
        if axis is not None or keepdim or freedom <= 0 or not _is_few(array, _SINGLE):
            return None
        ones, count = np.ones(array.size), array.size

        def kernel(array: Array, *_: Any) -> Array:
            rest = array.ravel().astype(_DOUBLE)
            rest -= np.array(rest.dot(ones) / count)
            var = rest.dot(rest) / freedom
            return np.array(math.sqrt(var) if root else var, _SINGLE)

        return kernel

    return fitted


# By the names of ops.
FITS: dict[str, Fit] = {
    "softmax.int": softmax, "_softmax": softmax, "log_softmax.int": log_softmax, "_log_softmax": log_softmax,
    "native_layer_norm": layer_norm, "nll_loss_forward": nll_loss, "gather": gather, "max": _extreme("argmax"),
    "min": _extreme("argmin"), "all": every, "lerp.Scalar": lerp, "var.correction": _moments(False),
    "std.correction": _moments(True), "index.Tensor": index, "embedding": embedding, "stack": stack, "cat": cat,
    "cumsum": cumsum, "_linear.bias": linear, "max.dim": _extreme_along("argmax"), "min.dim": _extreme_along("argmin"),
}  # fmt: skip
