"""Views of a part of a tensor, and the ops that write to such a part."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...core.declare import By, Composite, Formula, LaidOp, LaidView, describe, publish
from ...core.machine import LEADING, Leading, Tensor, TensorBase, check_no_overlap
from ...core.values import Array, Backend, contiguous_format, dt, wrap_dim
from ..formulas import zeros
from ..making.copy import clone
from .as_strided import as_strided
from .shape import Ints


def in_zeros(part: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel that puts a gradient of this part into zeros of the whole's shape."""

    def kernel(backend: Backend, g: Array, sizes: Ints, *arguments: Any) -> Any:
        whole = backend.xp.zeros(sizes, g.dtype)
        part(backend, whole, *arguments)[...] = g
        return whole

    return kernel


def in_copy(part: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel that replaces this part in a copy of the whole."""

    def kernel(backend: Backend, whole: Any, src: Array, *arguments: Any) -> Any:
        whole = _kept_copy(backend, whole)
        cut = part(backend, whole, *arguments)
        _check_part(cut, src)
        cut[...] = backend.cast(src, whole.dtype)
        return whole

    return kernel


def _kept_copy(backend: Backend, array: Array) -> Any:
    """A copy with the very strides of the array, gaps and all, unless elements lie at one place."""
    if not backend.strided or array.flags.c_contiguous or 0 in array.strides:
        return backend.copy(array, "C")
    shape, strides = tuple(array.shape), backend.strides(array)
    extent = 1 + sum([(n - 1) * step for n, step in zip(shape, strides, strict=True)])
    return backend.lay(backend.copy(backend.lay(array, (extent,), (1,)), "C"), shape, strides)


def _check_part(part: Any, src: Any) -> None:
    if part.shape != src.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(part.shape)}"
        )


def _family(
    name: str, options: str, part: Callable[..., Any], batch: Leading, told: Callable[..., Any] = lambda *given: given,
    **words: Any,
) -> tuple[LaidView, LaidOp]:  # fmt: skip
    """The view of a part, and what puts its gradient into zeros; what replaces the part in a copy is published."""
    plain, bare = name.partition(".")[0], re.sub("=[^,]*", "", options)
    names = [option.split()[-1] for option in bare.split(",")]
    shown = LaidView(
        f"{name}(Tensor self, {options})", part,
        {"self": Formula(lambda g, sizes, *given: back.apply(g, sizes, *told(*given)), "g", "self_shape", *names)},
    )  # fmt: skip
    back: LaidOp = LaidOp(
        f"{plain}_backward(Tensor grad_output, int[] input_sizes, {bare})", in_zeros(part), {"grad_output": shown},
        linear=True, batch=batch,
    )  # fmt: skip
    replaced: LaidOp = LaidOp(
        f"{plain}_scatter(Tensor self, Tensor src, {options})", in_copy(part),
        {
            "self": Formula(lambda g, size, *rest: replaced.apply(g, zeros(g, size), *rest), "g", "src_shape", *names),
            "src": shown,
        },
        linear=True, batch=LEADING, shows=" ".join(names), **words,
    )  # fmt: skip
    publish(replaced)
    return shown, back


# ---- select: one place along a dimension


def _select(backend: Backend, array: Array, dim: int, index: int) -> Any:
    shape = array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(shape))
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return array[(slice(None),) * dim + (index, ...)]


select, _ = _family("select.int", "int dim, int index", _select, Leading(more=1), complex_gradients=False)
publish(select)


# ---- slice: a range along a dimension


def cut_slice(backend: Backend, array: Array, dim: int, start: int | None, end: int | None, step: int) -> Any:
    if not array.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    dim = wrap_dim(dim, array.ndim)
    cut = array[(slice(None),) * dim + (slice(start, end, step),)]
    if cut.size:
        return cut
    strides = backend.strides(array)  # NumPy lets a slice without elements begin anywhere
    first = slice(start, end, step).indices(array.shape[dim])[0]
    steps = (*strides[:dim], strides[dim] * step, *strides[dim + 1 :])
    return backend.lay(array, cut.shape, steps, first * strides[dim])


_LAST = 2**63 - 1  # where nothing is said of the end of a slice
slice_, slice_backward = _family(
    "slice.Tensor", "int dim=0, int? start=None, int? end=None, int step=1", cut_slice, LEADING,
    lambda dim, start, end, step: (dim, start, _LAST if end is None else end, step),
    exact_out=True, complex_gradients=False,
)  # fmt: skip


def check_narrow(shape: Ints, dim: int, start: int, length: int) -> int:
    """The place where `narrow` begins, counted from the front."""
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = shape[wrap_dim(dim, len(shape))]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return start


def narrow(self: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` places along a dimension, from `start` on."""
    if isinstance(start, TensorBase):
        if start._array.shape or start.dtype.category != dt.INT:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = start.item()
    start = check_narrow(self._array.shape, dim, start, length)
    return slice_.apply(self, dim, start, start + length, 1)


publish(
    Composite("narrow(Tensor self, int dim, Tensor start, int length)", narrow),
    Composite("narrow(Tensor self, int dim, int start, int length)", narrow),
)


# ---- diagonals


def _diagonal(backend: Backend, array: Array, offset: int, dim1: int, dim2: int) -> Any:
    shape, strides = array.shape, backend.strides(array)
    first, second = wrap_dim(dim1, len(shape)), wrap_dim(dim2, len(shape))
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    down, right = max(-offset, 0), max(offset, 0)
    length = max(min(shape[first] - down, shape[second] - right), 0)
    rest = [d for d in range(len(shape)) if d not in (first, second)]
    return backend.lay(
        array,
        (*[shape[d] for d in rest], length),
        (*[strides[d] for d in rest], strides[first] + strides[second]),
        down * strides[first] + right * strides[second] if length else 0,
    )


diagonal, _ = _family("diagonal", "int offset=0, int dim1=0, int dim2=1", _diagonal, Leading(more=1))


def _diag_embed(backend: Backend, array: Array, offset: int, dim1: int, dim2: int) -> Any:
    ndim = array.ndim + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = array.shape[-1] + abs(offset)
    rest = iter(array.shape[:-1])
    shape = tuple([side if d in (first, second) else next(rest) for d in range(ndim)])
    return in_zeros(_diagonal)(backend, array, shape, offset, first, second)


diag_embed = LaidOp(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)",
    _diag_embed,
    {"self": diagonal},
    linear=True,
    batch=Leading(more=1),
)
publish(diagonal)
publish(diag_embed)


# ---- unfold: windows along a dimension


def _unfold(backend: Backend, array: Array, dimension: int, size: int, step: int) -> Any:
    shape, strides = array.shape, backend.strides(array)
    dim = wrap_dim(dimension, len(shape))
    have = shape[dim] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > have:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {have} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not shape:
        return backend.lay(array, (size,), (1,))
    count = (have - size) // step + 1
    return backend.lay(
        array,
        (*shape[:dim], count, *shape[dim + 1 :], size),
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]),
    )


def _unfold_backward(backend: Backend, g: Array, input_sizes: Ints, dim: int, size: int, step: int) -> Any:
    whole = backend.xp.zeros(input_sizes, g.dtype)
    if not input_sizes:
        whole[...] = g.sum()
        return whole
    dim = wrap_dim(dim, len(input_sizes))
    count = g.shape[dim]
    before = (slice(None),) * dim
    for at in range(size):
        whole[(*before, slice(at, at + step * (count - 1) + 1, step))] += g[..., at]
    return whole


unfold = LaidView(
    "unfold(Tensor self, int dimension, int size, int step)",
    _unfold,
    {"self": lambda g, self_shape, dimension, size, step: unfold_backward.apply(g, self_shape, dimension, size, step)},
)
unfold_backward: LaidOp = LaidOp(
    "unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step)",
    _unfold_backward,
    {"grad_in": By(unfold, {"dimension": "dim"})},
    linear=True,
    batch=Leading(more=-1),
)
publish(unfold, function=False)


# ---- as_strided_scatter: a part of the whole storage, replaced in a copy of that


def _as_strided_scatter(
    backend: Backend, array: Array, src: Array, size: Ints, stride: Ints, storage_offset: int | None
) -> Any:
    start = backend.offset(array)
    storage = backend.storage(array).view(array.dtype).copy()
    part = as_strided.kernel(backend, storage, size, stride, start if storage_offset is None else storage_offset)  # type: ignore[misc, operator]
    _check_part(part, src)
    check_no_overlap(part)
    part[...] = src
    return backend.as_strided(storage, array.shape, backend.strides(array), start)


as_strided_scatter: LaidOp = LaidOp(
    "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None)",
    _as_strided_scatter,
    {
        "self": lambda g, src_shape, size, stride, storage_offset: as_strided_scatter.apply(
            clone.apply(g, contiguous_format), g.new_zeros(src_shape), size, stride, storage_offset
        ),
        "src": lambda g, size, stride, storage_offset: as_strided.apply(
            clone.apply(g, contiguous_format), size, stride, storage_offset
        ),
    },
    linear=True,
    shows="size stride storage_offset",
)
publish(as_strided_scatter)


describe(
    as_strided_scatter="A copy of the tensor with `src` at the places that `as_strided` shows.",
    diag_embed="Matrices that have the last dimension on a diagonal and zeros elsewhere.",
    diagonal="A view of a diagonal of two dimensions, which becomes the last one.",
    diagonal_scatter="A copy of the tensor with `src` on a diagonal.",
    narrow="A view of `length` elements from `start` along a dimension.",
    select="A view of one slice along a dimension, which goes away.",
    select_scatter="A copy with `src` in place of one slice.",
    slice_scatter="A copy with `src` in place of a slice.",
    unfold="""A view of all windows of `size` along a dimension, `step` apart; they become the last dimension.

    >>> torch.arange(5).unfold(0, 3, 1)
    tensor([[0, 1, 2],
            [1, 2, 3],
            [2, 3, 4]])
    """,
)
