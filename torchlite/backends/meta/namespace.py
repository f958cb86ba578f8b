"""The array namespace of forms: NumPy's functions, which here say the form of what they would give.

Dtypes are NumPy's own: each function is run on tiny arrays of these dtypes. Shapes follow rules, by kind of function.
Functions without a rule run on stand-ins of the full shape; where these are large, that is refused.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.array_classes import give_operators
from .array import MetaArray, NoValues, axes_of, fresh
from .kinds import (
    _ALONG,
    _OF_VALUES,
    _POINTWISE,
    _REDUCTIONS,
    Along,
    Pointwise,
    Reduction,
    StandIn,
    Ufunc,
    _identities,
    _one,
    formed,
    forms_in,
)

# ---- functions with a rule of their own

RULES: dict[str, Any] = {}


def rule(f: Callable[..., Any]) -> Any:
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


def _method(name: str) -> Callable[..., Any]:
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


def _bound(name: str) -> Callable[..., Any]:
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

give_operators(MetaArray, xp)
