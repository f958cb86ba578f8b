"""The array namespace of forms: NumPy's functions, which here say the form of what they would give.

Dtypes are NumPy's own: each function is run on tiny arrays of these dtypes. Shapes follow rules, by kind of function.
Functions without a rule run on stand-ins of the full shape; where these are large, that is refused.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .array import MetaArray, NoValues, axes_of, fresh, packed

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


# ---- kinds of functions


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


# ---- functions with a rule of their own

RULES: dict[str, Any] = {}


def rule(f: Any) -> Any:
    RULES[f.__name__.rstrip("_")] = f
    return f


def _dtype(dtype: Any) -> Any:
    return np.dtype(float if dtype is None else dtype)


@rule
def empty(shape: Any, dtype: Any = None, order: str = "C") -> MetaArray:
    return fresh((shape,) if hasattr(shape, "__index__") else shape, _dtype(dtype))


@rule
def full(shape: Any, fill_value: Any, dtype: Any = None) -> MetaArray:
    return empty(shape, asarray(fill_value).dtype if dtype is None else dtype)


@rule
def empty_like(a: MetaArray, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> MetaArray:
    dtype = a.dtype if dtype is None else dtype
    return a.astype(dtype, order) if shape is None else fresh(shape, dtype)


@rule
def full_like(a: MetaArray, fill_value: Any, dtype: Any = None, order: str = "K", **more: Any) -> MetaArray:
    return empty_like(a, dtype, order, **more)


RULES |= {"zeros": empty, "ones": empty, "zeros_like": empty_like, "ones_like": empty_like}


@rule
def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None) -> MetaArray:
    if a.__class__ is MetaArray:
        return a.astype(a.dtype if dtype is None else dtype, copy=bool(copy))
    if isinstance(a, (list, tuple)) and any(True for _ in forms_in(a)):
        return stack([asarray(item, dtype) for item in a])
    return formed(np.asarray(a, dtype))


@rule
def array(a: Any, dtype: Any = None, copy: bool = True, order: str = "K") -> MetaArray:
    return asarray(a, dtype, copy=copy)


@rule
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> MetaArray:
    start, stop = (0, start) if stop is None else (start, stop)
    made = np.arange(start, start, step) if dtype is None else np.empty(0, dtype)
    return fresh((max(math.ceil((stop - start) / step), 0),), made.dtype)


@rule
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> MetaArray:
    return fresh((num,), _dtype(dtype))


@rule
def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = None, order: str = "C") -> MetaArray:
    return fresh((n, n if m is None else m), _dtype(dtype))


@rule
def broadcast_to(a: MetaArray, shape: Any) -> MetaArray:
    shape = tuple(shape)
    np.broadcast_to(np.empty(0), shape) if a.shape == (0,) else np.broadcast_shapes(a.shape, shape)
    lead = len(shape) - a.ndim
    steps = [0 if n != shape[lead + i] or n == 1 else a.strides[i] for i, n in enumerate(a.shape)]
    return a.shown(shape, (*(0,) * lead, *steps))


@rule
def broadcast_arrays(*arrays: MetaArray) -> list[MetaArray]:
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    return [broadcast_to(a, shape) for a in arrays]


@rule
def expand_dims(a: MetaArray, axis: Any) -> MetaArray:
    ndim = a.ndim + (len(axis) if isinstance(axis, tuple) else 1)
    axes = axes_of(axis, ndim)
    return a[tuple([None if i in axes else slice(None) for i in range(ndim)])]


@rule
def moveaxis(a: MetaArray, source: Any, destination: Any) -> MetaArray:
    sources, targets = axes_of(source, a.ndim), axes_of(destination, a.ndim)
    order = [i for i in range(a.ndim) if i not in sources]
    for target, origin in sorted(zip(targets, sources)):
        order.insert(target, origin)
    return a.transpose(order)


@rule
def flip(a: MetaArray, axis: Any = None) -> MetaArray:
    axes = range(a.ndim) if axis is None else axes_of(axis, a.ndim)
    return a[tuple([slice(None, None, -1 if i in axes else 1) for i in range(a.ndim)])]


@rule
def atleast_1d(a: Any) -> MetaArray:
    a = asarray(a)
    return a if a.ndim else a.reshape(1)


@rule
def concatenate(arrays: Any, axis: int | None = 0, out: Any = None, *, dtype: Any = None) -> MetaArray:
    arrays = [a.reshape(-1) if axis is None else a for a in arrays]
    made = np.concatenate([_one(a) for a in arrays], axis or 0, dtype=dtype)
    (at,) = axes_of(axis or 0, made.ndim)
    shapes = {(*a.shape[:at], *a.shape[at + 1 :]) for a in arrays}
    if len(shapes) > 1:
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    rest = shapes.pop()
    return fresh((*rest[:at], sum(a.shape[at] for a in arrays), *rest[at:]), made.dtype)


@rule
def stack(arrays: Any, axis: int = 0) -> MetaArray:
    return concatenate([expand_dims(a, axis) for a in arrays], axis)


@rule
def tile(a: MetaArray, reps: Any) -> MetaArray:
    times = (reps,) if hasattr(reps, "__index__") else tuple(reps)
    ndim = max(a.ndim, len(times))
    pairs = zip((1,) * (ndim - a.ndim) + a.shape, (1,) * (ndim - len(times)) + times)
    return fresh([n * t for n, t in pairs], a.dtype)


@rule
def repeat(a: MetaArray, repeats: Any, axis: int | None = None) -> MetaArray:
    if not hasattr(repeats, "__index__"):
        raise NoValues
    a = a.reshape(-1) if axis is None else a
    (at,) = axes_of(axis or 0, a.ndim)
    return fresh([n * repeats if i == at else n for i, n in enumerate(a.shape)], a.dtype)


@rule
def take(a: MetaArray, indices: Any, axis: int | None = None) -> MetaArray:
    a = a.reshape(-1) if axis is None else a
    (at,) = axes_of(axis or 0, a.ndim)
    return fresh((*a.shape[:at], *asarray(indices).shape, *a.shape[at + 1 :]), a.dtype)


@rule
def take_along_axis(a: MetaArray, indices: MetaArray, axis: int) -> MetaArray:
    (at,) = axes_of(axis, a.ndim)
    shape = np.broadcast_shapes(*[[1 if i == at else n for i, n in enumerate(x.shape)] for x in (a, indices)])
    return fresh([indices.shape[at] if i == at else n for i, n in enumerate(shape)], a.dtype)


@rule
def diff(a: MetaArray, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> MetaArray:
    whole = concatenate([asarray(x) for x in (prepend, a, append) if x is not None], axis)
    (at,) = axes_of(axis, a.ndim)
    dtype = np.diff(np.ones(2, whole.dtype)).dtype
    return fresh([max(size - n, 0) if i == at else size for i, size in enumerate(whole.shape)], dtype)


@rule
def searchsorted(a: MetaArray, v: Any, side: str = "left", sorter: Any = None) -> MetaArray:
    return fresh(asarray(v).shape, np.intp)


@rule
def lexsort(keys: MetaArray) -> MetaArray:
    return fresh(keys[-1].shape, np.intp)


@rule
def matmul(a: MetaArray, b: MetaArray, out: Any = None) -> MetaArray:
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ValueError("matmul: the dimensions do not match")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return fresh((*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ())), np.matmul(_one(a), _one(b)).dtype)


@rule
def dot(a: MetaArray, b: MetaArray) -> MetaArray:
    if a.ndim and b.ndim:
        return tensordot(a, b, ((-1,), (-2 if b.ndim > 1 else -1,)))
    return RULES["multiply"](a, b)


@rule
def tensordot(a: MetaArray, b: MetaArray, axes: Any = 2) -> MetaArray:
    if hasattr(axes, "__index__"):
        axes = (tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes)))
    first, second = axes_of(axes[0], a.ndim), axes_of(axes[1], b.ndim)
    if [a.shape[i] for i in first] != [b.shape[i] for i in second]:
        raise ValueError("shape-mismatch for sum")
    kept = [n for i, n in enumerate(a.shape) if i not in first] + [n for i, n in enumerate(b.shape) if i not in second]
    return fresh(kept, np.multiply(np.ones(1, a.dtype), np.ones(1, b.dtype)).dtype)


@rule
def einsum(subscripts: str, *operands: MetaArray, **more: Any) -> MetaArray:
    made = np.einsum(subscripts, *map(_one, operands))
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    if not arrow or "." in subscripts:
        return StandIn(np.einsum)(subscripts, *operands)
    sizes = {c: n for term, form in zip(inputs.split(","), operands) for c, n in zip(term, form.shape)}
    return fresh([sizes[c] for c in output], made.dtype)


@rule
def pad(a: MetaArray, pad_width: Any, mode: str = "constant", **more: Any) -> MetaArray:
    widths = np.broadcast_to(pad_width, (a.ndim, 2)).tolist()
    return fresh([n + before + after for n, (before, after) in zip(a.shape, widths)], a.dtype)


@rule
def may_share_memory(a: MetaArray, b: MetaArray) -> bool:
    return a.memory is b.memory


@rule
def copyto(dst: MetaArray, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    broadcast_to(asarray(src), dst.shape)


@rule
def result_type(*values: Any) -> Any:
    return np.result_type(*[v.dtype if v.__class__ is MetaArray else v for v in values])


def _method(name: str) -> Any:
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(a, name)(*args, **kwargs)

    return call


RULES |= {n: _method(n) for n in ("reshape", "transpose", "swapaxes", "squeeze", "ravel", "diagonal")}


# ---- the namespace


class Namespace:
    """NumPy's names. Types and constants are its own."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if self._module is np:
            made = RULES.get(name) or _made(name, found)
        else:
            made = StandIn(found, _identities) if inspect.isroutine(found) else found
        setattr(self, name, made)
        return made


def _made(name: str, found: Any) -> Any:
    if isinstance(found, np.ufunc):
        return Ufunc(found)
    if inspect.ismodule(found):
        return Namespace(found)
    if not callable(found) or isinstance(found, type):
        return MetaArray if found is np.ndarray else found
    if name in _OF_VALUES:
        return _refuse
    for names, kind in ((_POINTWISE, Pointwise), (_ALONG, Along), (_REDUCTIONS, Reduction)):
        if name in names:
            return kind(found)
    return StandIn(found)


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise NoValues


xp = Namespace(np)
RULES["multiply"] = Ufunc(np.multiply)


def _bound(name: str) -> Any:
    """The function of this name as a method; the functions that write in place have nothing to do."""

    def call(self: MetaArray, *args: Any, **kwargs: Any) -> Any:
        return getattr(xp, name)(self, *args, **kwargs)

    return call


_OTHERS = ("take", "dot", "repeat", "clip", "round", "searchsorted", "conj", "conjugate")
for _name in (*_REDUCTIONS, *_ALONG, *_OF_VALUES, *_OTHERS):
    if hasattr(np.ndarray, _name):
        setattr(MetaArray, _name, _bound(_name))


def _in_place(self: MetaArray, *args: Any, **kwargs: Any) -> None: ...


for _name in ("sort", "partition", "put"):
    setattr(MetaArray, _name, _in_place)


def _operator(symbol: str, name: str) -> None:
    def forward(self: MetaArray, *other: Any) -> Any:
        return getattr(xp, name)(self, *other)

    def reflected(self: MetaArray, other: Any) -> Any:
        return getattr(xp, name)(other, self)

    def inplace(self: MetaArray, other: Any) -> Any:
        return getattr(xp, name)(self, other, out=self)

    for prefix, function in (("", forward), ("r", reflected), ("i", inplace)):
        setattr(MetaArray, f"__{prefix}{symbol}__", function)


for _symbol, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift", "matmul": "matmul",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert", "divmod": "divmod",
}.items():  # fmt: skip
    _operator(_symbol, _name)
