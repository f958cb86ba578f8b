"""Tensors from nothing: constants, ranges, grids, and memory as it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backends.base import get_backend
from ...core.machine import Tensor, TensorBase, fitting_array, wrap
from ...core.machine.rare import RARE
from ...core.state import local
from ...core.values import CPU, Backend, Namespace, not_implemented_for, or_own, too_long, warn
from ...core.values import dtype as dt
from ...core.values.determinism import determinism
from ...core.values.layout import (
    channels_last,
    channels_last_3d,
    channels_last_strides,
    contiguous_format,
    contiguous_strides,
    dense_strides,
    memory_format,
    preserve_format,
)
from ...kernels.cpu_random.arithmetic import multiply_add
from .copy import check_format, write_number
from .factory import factory


def checked(size: Any, name: str) -> Any:
    for n in size:
        if n < 0:
            if name == "empty":
                raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
            raise RuntimeError(f"{name}: Dimension size must be non-negative.")
    return size


def _filled(size: tuple[int, ...], value: Any, d: dt.dtype, backend: Backend) -> Tensor:
    return wrap(backend.full(size, value, d.numpy), d, backend)


# ---- constants


@factory("empty(int[] size, *, MemoryFormat? memory_format=None)")
def empty(size: Any, format_: Any, d: Any, backend: Backend) -> Tensor:
    """A tensor of whatever is in memory."""
    return settled(uninitialized(size, d or dt.get_default_dtype(), backend, format_))


def settled(fresh: Tensor) -> Tensor:
    """Memory as it is; where deterministic algorithms are asked for, with NaN or the largest integer in it."""
    if determinism.debug_mode and determinism.fill_uninitialized_memory:
        d = fresh.dtype
        largest = True if d is dt.bool_ else (1 << d.itemsize * 8 - d.is_signed) - 1
        return _with_value(fresh, math.nan if d.category >= dt.FLOAT else largest)
    return fresh


def _with_value(fresh: Tensor, value: Any) -> Tensor:
    write_number(fresh, value)
    return fresh


@factory("full(int[] size, Scalar fill_value)")
def full(size: Any, value: Any, d: Any, backend: Backend) -> Tensor:
    """A tensor of one value."""
    d = d or dt.of_number(value)
    return _with_value(wrap(backend.empty(checked(size, "empty"), d.numpy), d, backend), value)


@factory("scalar_tensor(Scalar s)")
def scalar_tensor(value: Any, d: Any, backend: Backend) -> Tensor:
    """A 0-dim tensor of a number."""
    d = d or dt.get_default_dtype()
    return wrap(fitting_array(value, d, backend), d, backend)


def uninitialized(size: Sequence[int], d: dt.dtype, backend: Backend, format_: memory_format | None = None) -> Tensor:
    """A tensor of whatever is in memory."""
    checked(size, "empty")
    if format_ in (channels_last, channels_last_3d):
        check_format(len(size), format_)
        return empty_in(size, channels_last_strides(tuple(size)), d, backend)
    if format_ is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    return wrap(backend.empty(tuple(size), d.numpy), d, backend)


def empty_in(size: Any, strides: Any, d: dt.dtype, backend: Backend) -> Tensor:
    """Uninitialised memory with these strides."""
    return wrap(backend.empty_strided(tuple(size), tuple(strides), d.numpy), d, backend)


def _check_strides(size: Any, strides: Any) -> None:
    if len(size) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(strides)})"
        )
    if any(s < 0 for s in strides):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(strides)}")


@factory("empty_strided(int[] size, int[] stride)")
def empty_strided(size: Any, strides: Any, d: Any, backend: Backend) -> Tensor:
    """Uninitialised memory with the strides given."""
    _check_strides(size, strides)
    return settled(empty_in(checked(size, "empty"), strides, d or dt.get_default_dtype(), backend))


@factory("empty_permuted(int[] size, int[] physical_layout)")
def empty_permuted(size: Any, order: Any, d: Any, backend: Backend) -> Tensor:
    """Uninitialised memory whose dimensions lie in the order given, the last innermost."""
    if len(order) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    strides, step, seen = [0] * len(size), 1, set()
    for dim in reversed(order):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index "
                f"{order.index(dim)}).  NB: negative dims not currently supported; file an issue if you want it."
            )
        if dim in seen:
            raise RuntimeError("Duplicate dim not allowed")
        seen.add(dim)
        strides[dim] = step
        step *= max(size[dim], 1)
    return settled(empty_in(size, strides, d or dt.get_default_dtype(), backend))


# ---- like another tensor


def strides_like(t: Tensor, format_: memory_format | None) -> tuple[int, ...]:
    """The strides that a tensor made like `t` gets."""
    shape = tuple(t._array.shape)
    if format_ is contiguous_format:
        return contiguous_strides(shape)
    if format_ in (channels_last, channels_last_3d):
        check_format(len(shape), format_)
        return channels_last_strides(shape)
    strides = t.stride()
    return strides if strides == contiguous_strides(shape) else dense_strides(shape, strides)


def like(t: Tensor, format_: Any, d: dt.dtype, backend: Backend) -> Tensor:
    """Uninitialised memory of the form of `t`."""
    return empty_in(t._array.shape, strides_like(t, format_), d, backend)


def _filled_like(t: Tensor, value: int, format_: Any, d: dt.dtype, backend: Backend) -> Tensor:
    shape = t._array.shape
    if format_ is None and t._array.flags.c_contiguous and 1 not in shape and 0 not in shape:
        return _filled(shape, value, d, backend)
    strides = strides_like(t, format_)
    if strides == contiguous_strides(shape):
        return _filled(shape, value, d, backend)
    return _with_value(empty_in(shape, strides, d, backend), value)


def _constant(name: str, value: int) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """What makes tensors of a number: of a size, and of a tensor's form. What makes them of its kind is a method."""

    def of_size(size: Any, d: Any, backend: Backend) -> Tensor:
        return _filled(checked(size, name), value, d or dt.get_default_dtype(), backend)

    def of_form(self: Tensor, format_: Any, d: Any, backend: Backend) -> Tensor:
        return _filled_like(self, value, format_, d, backend)

    def of_kind(self: Tensor, size: Any, d: Any, backend: Backend) -> Tensor:
        return _filled(checked(size, "empty"), value, d, backend)

    of_size.__doc__ = f"A tensor of {name}."
    of_form.__doc__ = f"{name.capitalize()} of a tensor's form."
    of_kind.__doc__ = f"{name.capitalize()} of this tensor's dtype on its device."
    factory(f"new_{name}(Tensor self, int[] size)", function=False, method=True)(of_kind)
    like = factory(f"{name}_like(Tensor self, *, MemoryFormat? memory_format=None)")(of_form)
    return factory(f"{name}(int[] size)")(of_size), like


zeros, zeros_like = _constant("zeros", 0)
ones, _ = _constant("ones", 1)


@factory("empty_like(Tensor self, *, MemoryFormat? memory_format=None)")
def empty_like(self: Tensor, format_: Any, d: Any, backend: Backend) -> Tensor:
    """Uninitialised memory of a tensor's form."""
    return settled(like(self, format_, d, backend))


@factory("full_like(Tensor self, Scalar fill_value, *, MemoryFormat? memory_format=None)")
def full_like(self: Tensor, value: Any, format_: Any, d: Any, backend: Backend) -> Tensor:
    """One value in a tensor's form."""
    return _with_value(like(self, format_, d, backend), value)


@factory("new_empty(Tensor self, int[] size)", function=False, method=True)
def new_empty(self: Tensor, size: Any, d: Any, backend: Backend) -> Tensor:
    """Uninitialised memory of this tensor's dtype on its device."""
    return settled(uninitialized(size, d, backend))


@factory("new_full(Tensor self, int[] size, Scalar fill_value)", function=False, method=True)
def new_full(self: Tensor, size: Any, value: Any, d: Any, backend: Backend) -> Tensor:
    """One value in this tensor's dtype on its device."""
    return _with_value(wrap(backend.empty(checked(size, "empty"), d.numpy), d, backend), value)


@factory("new_empty_strided(Tensor self, int[] size, int[] stride)", function=False, method=True)
def new_empty_strided(self: Tensor, size: Any, strides: Any, d: Any, backend: Backend) -> Tensor:
    """Uninitialised memory with these strides, of this tensor's dtype on its device."""
    _check_strides(size, strides)
    return settled(empty_in(size, strides, d, backend))


# ---- ranges


def _from_host(values: Any, d: dt.dtype, backend: Backend) -> Tensor:
    return wrap(backend.from_host(local.state.quiet(values.astype, d.numpy, copy=False)), d, backend)


@or_own
def _numbers(xp: Namespace, start: Any, count: int, step: Any, dtype: Any, whole: bool) -> Any:
    """Numbers from `start` on, computed in the widest type."""
    if whole and step:
        made = xp.arange(start, start + count * step, step, dtype=dt.int64.numpy)
    else:
        made = start + xp.arange(count, dtype=dt.float64.numpy) * step
    return made.astype(dtype, copy=False)


def _range(start: Any, count: int, step: Any, d: dt.dtype, backend: Backend) -> Tensor:
    if not backend.values:
        return wrap(backend.empty((count,), d.numpy), d, backend)
    whole = d.category < dt.FLOAT and isinstance(start, int) and isinstance(step, int)
    return wrap(local.state.quiet(_numbers, backend.xp, start, count, step, d.numpy, whole), d, backend)


@factory("arange(Scalar? start=None, Scalar? end=None, Scalar step=1)", flat=True, warns=True)
def arange(start: Any, end: Any, step: Any, d: Any, backend: Backend) -> Tensor:
    """The numbers from start (0) up to but without end, by step (1)."""
    if end is None:
        if start is None:
            raise TypeError('arange() missing 1 required positional arguments: "end"')
        start, end = 0, start
    elif start is None:
        start = 0
    if d is None:
        whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
        d = dt.int64 if whole else dt.get_default_dtype()
    if d is dt.bool_ or d.is_complex or d in RARE:
        raise not_implemented_for("arange_cpu", d)
    _check_range(start, end, step)
    if d is dt.int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
        if not -(1 << 63) <= max(start, end, key=abs) < 1 << 63:
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        count = max(0, -((start - end) // step))
    else:
        count = math.ceil((end - start) / step)
    if count >= 1 << 63:
        raise RuntimeError("invalid size, possible overflow?")
    if d.category == dt.INT:
        start, step = int(start), int(step)
    backend.check_room((count,), d.numpy)
    return _range(start, count, step, d, backend)


def _check_range(start: Any, end: Any, step: Any) -> None:
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    for v in (start, end, step):
        if isinstance(v, int) and not -(1 << 63) <= v < 1 << 64:
            raise too_long(v)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


@factory("range(Scalar start, Scalar end, Scalar step=1)", flat=True, deprecated=True)
def range_(start: Any, end: Any, step: Any, d: Any, backend: Backend) -> Tensor:
    """The numbers from start to end, both included."""
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
    )
    d = d or dt.get_default_dtype()
    if d is dt.bool_ or d.is_complex:
        raise not_implemented_for("range_cpu", d)
    _check_range(start, end, step)
    count = math.floor((end - start) / step) + 1
    backend.check_room((count,), d.numpy)
    return _range(start, count, step, d, backend)


def _evenly(start: Any, end: Any, steps: int, d: dt.dtype, wide: np.dtype) -> np.ndarray:
    """Evenly spaced values between numbers of `d`, computed in another type, from both ends so that both are exact."""
    first = fitting_array(start, d, get_backend()).astype(wide) if steps else None
    if steps < 2:
        return np.full((steps,), first)
    last = fitting_array(end, d, get_backend()).astype(wide)
    step = (last - first) / wide.type(steps - 1)
    at = np.arange(steps)

    def away(from_: Any, step: Any, at: np.ndarray) -> np.ndarray:
        if wide in (dt.float32.numpy, dt.float64.numpy):
            return multiply_add(at.astype(wide), float(step), float(from_))  # rounded once, as PyTorch's
        return from_ + step * at.astype(wide)

    return np.where(at < steps // 2, away(first, step, at), away(last, -step, at[::-1]))


def _spaced(name: str, start: Any, end: Any, steps: int, d: dt.dtype | None) -> tuple[Any, Any, dt.dtype]:
    """Two numbers, given as such or as 0-dim tensors, and the dtype of what lies between."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    given = [(side, t) for side, t in (("start", start), ("end", end)) if isinstance(t, TensorBase)]
    if any(t.dim() for _, t in given):
        had = " and ".join(f"{side} with {t.dim()} dimension(s)" for side, t in given)
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {had}.")
    complex_ = any(isinstance(v, complex) or (isinstance(v, TensorBase) and v.dtype.is_complex) for v in (start, end))
    if d is None:
        d = dt.default_complex() if complex_ else dt.get_default_dtype()
    elif complex_ and not d.is_complex:
        inferred = dt.default_complex().cname
        raise RuntimeError(f"torch.{name}(): inferred dtype {inferred} can't be safely cast to passed dtype {d.legacy}")
    elif (d is dt.bool_ or d in RARE) and steps > 1:
        raise not_implemented_for(f"{name}_cpu", d)
    if not _without_value(start, end):
        start, end = [v.item() if isinstance(v, TensorBase) else v for v in (start, end)]
    return start, end, d


def _without_value(*ends: Any) -> bool:
    """Whether these are tensors of a transform, which may have no one value, or of a device that has none."""
    return any([isinstance(v, TensorBase) and (v._backend.home.level or v.is_meta) for v in ends])


def _evenly_between(start: Any, end: Any, steps: int, d: dt.dtype, backend: Backend) -> Tensor:
    """Evenly spaced values, by ops on the ends: the first half counted from the start, the second from the end."""
    near = _from_host(np.arange(steps) < max(steps // 2, 2 - steps), dt.bool_, backend)
    at = _from_host(np.arange(steps, dtype=d.numpy), d, backend)
    step = (end - start) / max(steps - 1, 1)
    return (start + step * at).where(near, end - step * (steps - 1 - at))


@factory("linspace(Operand start, Operand end, int steps)", flat=True)
def linspace(start: Any, end: Any, steps: int, d: Any, backend: Backend) -> Tensor:
    """Evenly spaced values from start to end, both included."""
    start, end, d = _spaced("linspace", start, end, steps, d)
    wide = d.numpy if d.category >= dt.FLOAT else dt.float64.numpy
    if _without_value(start, end):
        return _evenly_between(start, end, steps, dt.of_numpy(wide), backend).to(d)
    backend.check_room((steps,), d.numpy)
    return _from_host(local.state.quiet(_evenly, start, end, steps, d, wide), d, backend)


@factory("logspace(Operand start, Operand end, int steps, float base=10.0)", flat=True)
def logspace(start: Any, end: Any, steps: int, base: float, d: Any, backend: Backend) -> Tensor:
    """Powers of `base`, their exponents evenly spaced."""
    start, end, d = _spaced("logspace", start, end, steps, d)
    wide = dt.float32.numpy if d in dt.HALVES else d.numpy if d.category >= dt.FLOAT else dt.float64.numpy
    if _without_value(start, end):
        return (base ** _evenly_between(start, end, steps, dt.of_numpy(wide), backend)).to(d)
    backend.check_room((steps,), d.numpy)
    exponents = local.state.quiet(_evenly, start, end, steps, d, wide)
    return _from_host(local.state.quiet(np.power, base, exponents), d, backend)


# ---- matrices


@factory("eye(int n, int? m=None)")
def eye(n: int, m: int | None, d: Any, backend: Backend) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    d = d or dt.get_default_dtype()
    if d in RARE - dt.EIGHT_BITS:
        raise not_implemented_for("eye", d)
    return wrap(backend.xp.eye(n, n if m is None else m, dtype=d.numpy), d, backend)


def _triangle(op: str, rows: int, columns: int, first: int, last: int, d: Any, backend: Backend) -> Tensor:
    """The places from column i + first up to without i + last of each row i of a matrix."""
    for name, size in (("row", rows), ("col", columns)):
        if size < 0:
            raise RuntimeError(f"{name} must be non-negative, got{size}")
    if d not in (None, dt.int32, dt.int64):
        raise not_implemented_for(op, d)
    d = d or dt.int64
    count = _triangle_size(rows, columns, last) - _triangle_size(rows, columns, first)
    get_backend(CPU).check_room((2, count), d.numpy)
    row = np.arange(min(rows, max(columns - first, 0)))  # the others have none
    from_, to = [np.clip(row + max(min(shift, columns), -rows), 0, columns) for shift in (first, last)]
    before = np.cumsum(to - from_) - to
    at = np.repeat(row, to - from_)
    return _from_host(np.stack([at, np.arange(at.size) - before[at]]), d, backend)


def _triangle_size(rows: int, columns: int, shift: int) -> int:
    """How many places of a matrix lie before column i + shift of each row i."""
    first = min(max(-shift, 0), rows)  # of the rows that have some
    whole = min(max(columns - shift, first), rows)  # of those that lie before it whole
    return (whole - first) * (first + whole - 1 + 2 * shift) // 2 + (rows - whole) * columns


@factory("tril_indices(int row, int col, int offset=0)")
def tril_indices(rows: int, columns: int, offset: int, d: Any, backend: Backend) -> Tensor:
    """Rows and columns of a matrix's lower triangle."""
    return _triangle("tril_indices", rows, columns, -rows, offset + 1, d, backend)


@factory("triu_indices(int row, int col, int offset=0)")
def triu_indices(rows: int, columns: int, offset: int, d: Any, backend: Backend) -> Tensor:
    """Rows and columns of a matrix's upper triangle."""
    return _triangle("triu_indices", rows, columns, offset, columns, d, backend)


@factory("vander(Tensor x, int? N=None, bool increasing=False)")
def vander(x: Tensor, n: int | None, increasing: bool, d: Any, backend: Backend) -> Tensor:
    """The powers of each element of a vector, as a matrix's rows."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.numel() if n is None else n
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    backend.check_room((x.numel(), count), x.dtype.numpy)
    powers = arange(count, device=x.device)
    return x.unsqueeze(1) ** (powers if increasing else powers.flip(0))


# ---- windows


def _window(name: str, schema: str, shape: Callable[..., np.ndarray]) -> None:
    @factory(f"{name}(int window_length, bool periodic=True{schema})")
    def make(length: int, periodic: bool, *rest: Any) -> Tensor:
        *parameters, d, backend = rest
        d = d or dt.get_default_dtype()
        if not d.category >= dt.FLOAT:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {d}")
        if length < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
        if length < 2:
            return _filled((length,), 1, d, backend)
        if d.is_complex:
            raise not_implemented_for("arange_cpu", d)
        points = length + 1 if periodic else length
        backend.check_room((points,), d.numpy)
        precision: Any = np.float64 if d is dt.float64 else np.float32
        places = np.arange(points).astype(precision) / (points - 1)
        return _from_host(shape(places, *parameters)[:length], d, backend)

    called = name.removesuffix("_window").capitalize()
    make.__doc__ = f"The {called} window over `window_length` points; its first point would follow if it is `periodic`."


def _cosines(x: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    return alpha - beta * np.cos(2 * np.pi * x)


_window("hann_window", "", lambda x: _cosines(x, 0.5, 0.5))
_window("hamming_window", ", float alpha=0.54, float beta=0.46", _cosines)
_window("bartlett_window", "", lambda x: 1 - np.abs(2 * x - 1))
_window("blackman_window", "", lambda x: 0.08 * np.cos(4 * np.pi * x) - 0.5 * np.cos(2 * np.pi * x) + 0.42)
_window("kaiser_window", ", float beta=12.0", lambda x, beta: np.i0(beta * np.sqrt(1 - (2 * x - 1) ** 2)) / np.i0(beta))
