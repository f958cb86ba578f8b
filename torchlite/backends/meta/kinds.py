"""Kinds of NumPy's functions, by how the form of what they give follows from the forms of what they take."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .array import MetaArray, axes_of, fresh, packed

_MOST = 1 << 22  # elements that stand-ins may have together


def forms_in(*values: Any) -> Iterator[MetaArray]:
    """The arrays among arguments, also in tuples and lists."""
    for value in values:
        if value.__class__ is MetaArray:
            yield value
        elif isinstance(value, (tuple, list)):
            yield from forms_in(*value)


def replaced(value: Any, replace: Callable[[MetaArray], Any]) -> Any:
    """An argument with something else for every array in it."""
    if value.__class__ is MetaArray:
        return replace(value)
    if value.__class__ in (tuple, list):
        return value.__class__([replaced(item, replace) for item in value])
    if value.__class__ is dict:
        return {name: replaced(item, replace) for name, item in value.items()}
    return value


def formed(value: Any) -> Any:
    """The form of what NumPy gave."""
    if isinstance(value, (tuple, list)):
        items = [formed(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)
        return fresh(value.shape, value.dtype, packed(value.shape, value.strides))
    return value


class Function:
    """A function of NumPy, by which dtypes are found."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        result = self.form(args, kwargs)
        if out is None:
            return result
        for made, target in zip(forms_in(result), forms_in(out)):
            if np.broadcast_shapes(made.shape, target.shape) != target.shape:
                raise ValueError(f"non-broadcastable output operand with shape {target.shape}")
        return out

    def form(self, args: Any, kwargs: Any) -> Any:
        raise NotImplementedError

    def tried(self, args: Any, kwargs: Any, small: Callable[[MetaArray], Any]) -> Any:
        """What NumPy's function gives for small arrays in place of forms."""
        return self.function(*replaced(tuple(args), small), **replaced(kwargs, small))


def _one(form: MetaArray) -> np.ndarray:
    """One element (or none, where there is none), in as many dimensions."""
    return np.ones([min(n, 1) for n in form.shape], form.dtype)


def _ordered(form: MetaArray) -> np.ndarray:
    """At most two elements in each dimension, and these in the same order in memory."""
    order = sorted(range(form.ndim), key=lambda i: (-abs(form.strides[i]), i))
    sizes = [1 if form.strides[i] == 0 else min(form.shape[i], 2) for i in order]
    array = np.ones(sizes, form.dtype).transpose(np.argsort(order))
    return np.broadcast_to(array, [min(n, 2) for n in form.shape])


class Pointwise(Function):
    """Results have the shape that the arguments broadcast to, in their order."""

    def form(self, args: Any, kwargs: Any) -> Any:
        forms = [*forms_in(args), *forms_in(tuple(kwargs.values()))]
        shape = np.broadcast_shapes(*[f.shape for f in forms])
        plain = all(f.flags.c_contiguous for f in forms)
        made = self.tried(args, kwargs, _one if plain else _ordered)

        def full(result: Any) -> MetaArray:
            result = np.asarray(result)
            return fresh(shape, result.dtype, None if plain else packed(shape, result.strides))

        return tuple(map(full, made)) if isinstance(made, tuple) else full(made)


class Along(Function):
    """The result has the shape of the first argument."""

    def form(self, args: Any, kwargs: Any) -> Any:
        return fresh(args[0].shape, self.tried(args, kwargs, _one).dtype)


class Reduction(Function):
    """Dimensions are reduced away; `default` are those when no axis is named."""

    def __init__(self, function: Any, default: int | None = None) -> None:
        super().__init__(function)
        self.default = default
        try:
            self.names = list(inspect.signature(function).parameters)
        except ValueError:  # the `reduce` of a ufunc
            self.names = ["array", "axis", "dtype", "out", "keepdims"]

    def form(self, args: Any, kwargs: Any) -> Any:
        named = {**dict(zip(self.names, args)), **kwargs}
        array, axis, keepdims = args[0], named.get("axis", self.default), named.get("keepdims", False)
        gone = range(array.ndim) if axis is None else axes_of(axis, array.ndim)
        made = np.asarray(self.tried(args, kwargs, _one))
        kept = [1 if i in gone else n for i, n in enumerate(array.shape) if keepdims or i not in gone]
        return fresh(kept, made.dtype)


def _zeros(form: MetaArray) -> np.ndarray:
    return np.zeros(form.shape, form.dtype)


def _identities(form: MetaArray) -> np.ndarray:
    """Matrices that can be inverted."""
    return np.broadcast_to(np.eye(*form.shape[-2:], dtype=form.dtype), form.shape) if form.ndim > 1 else _zeros(form)


class StandIn(Function):
    """Whatever NumPy gives for arrays of the full shape, where they are small enough."""

    def __init__(self, function: Any, make: Callable[[MetaArray], np.ndarray] = _zeros) -> None:
        super().__init__(function)
        self.make = make

    def form(self, args: Any, kwargs: Any) -> Any:
        size = sum(f.size for f in forms_in(args, tuple(kwargs.values())))
        if size > _MOST:
            raise NotImplementedError(
                f"torchlite has no rule for the form of '{self.function.__name__}', and arrays of {size} elements on "
                "the device 'meta' are too large to find it by trying"
            )
        return formed(self.tried(args, kwargs, self.make))


class Ufunc(Pointwise):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        nin = self.function.nin
        if len(args) > nin:
            kwargs["out"] = args[nin]
        return super().__call__(*args[:nin], **kwargs)

    def reduce(self, array: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
        return Reduction(self.function.reduce, 0)(array, *args, **kwargs)

    def accumulate(self, array: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
        return Along(self.function.accumulate)(array, *args, **kwargs)

    def outer(self, a: MetaArray, b: MetaArray) -> MetaArray:
        return self(a.reshape(a.shape + (1,) * b.ndim), b)

    def at(self, array: MetaArray, *args: Any) -> None:
        """Change elements, of which there are none."""


_POINTWISE = frozenset((
    "where", "clip", "round", "around", "nan_to_num", "isclose", "sinc", "i0", "fix", "angle", "isneginf", "isposinf",
    "iscomplex", "isreal", "ascontiguousarray", "copy",
))  # fmt: skip
_ALONG = frozenset(("sort", "argsort", "cumsum", "cumprod", "nancumsum", "nancumprod", "roll", "tril", "triu", "isin"))
_REDUCTIONS = frozenset((
    "sum", "prod", "max", "min", "amax", "amin", "any", "all", "mean", "var", "std", "argmax", "argmin", "nansum",
    "nanprod", "nanmax", "nanmin", "nanmean", "median", "nanmedian", "count_nonzero", "ptp",
))  # fmt: skip
_OF_VALUES = frozenset((
    "nonzero", "flatnonzero", "argwhere", "unique", "unique_values", "unique_counts", "unique_inverse", "unique_all",
    "bincount", "extract", "compress", "union1d", "intersect1d", "setdiff1d", "setxor1d", "trim_zeros", "allclose",
    "array_equal", "array_equiv",
))  # fmt: skip
