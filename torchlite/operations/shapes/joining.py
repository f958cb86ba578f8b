"""Joining several tensors into one; `cutting.py` has the inverses, and each is the derivative of the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import LaidOp, Op, describe, fit_gradient, function, publish, publish_python, published
from ...core.machine import Leading, Tensor, TensorBase, dispatch, into, needs_dispatch, overridable, result_type
from ...core.state import NO_GRAD, is_watched, local
from ...core.values import Backend, Namespace, channels_last_strides, dt, errors, warn_once, wrap_dim
from ..making.factories import arange, empty, full
from .shape import (
    Ints,
    along_dim,
    at_least_1d,
    at_least_2d,
    at_least_3d,
    expand,
    flatten,
    reshape,
    several,
    spread,
    view,
)
from .slicing import select, slice_

# ---- joining


def _check_cat(arrays: Sequence[Any], dim: int) -> int:
    """What is looked at before dtypes and sizes; returns the dimension, counted from the front."""
    for at, array in enumerate(arrays):
        if not array.shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {at}) cannot be concatenated")
    first = next((array.shape for array in arrays if array.shape != (0,)), None)
    return 0 if first is None else wrap_dim(dim, len(first))


def _cat(backend: Backend, arrays: Sequence[Any], dim: int) -> Any:
    xp = backend.xp
    for array in arrays:
        if not array.flags.c_contiguous:
            break
    else:
        try:
            return xp.concatenate(arrays, dim)
        except (TypeError, ValueError):  # there are empty vectors to leave out, or errors to name
            pass
    dim = _check_cat(arrays, dim)
    real = [array for array in arrays if array.shape != (0,)]  # these may stand beside any shape
    if not real:
        return arrays[0].copy()
    first = real[0].shape
    for at, array in enumerate(arrays):
        shape = array.shape
        if shape == (0,):
            continue
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d, (n, have) in enumerate(zip(first, shape, strict=True)):
            if n != have and d != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {have} for "
                    f"tensor number {at} in the list."
                )
    shape = (*first[:dim], sum([array.shape[dim] for array in real]), *first[dim + 1 :])
    out = backend.empty(shape, real[0].dtype)
    if len(first) in (4, 5) and all([backend.strides(a) == channels_last_strides(a.shape) for a in real]):
        out = backend.lay(out, shape, channels_last_strides(shape))
    return xp.concatenate(real, dim, out=out)


def _cat_backward(
    g: Tensor, tensors_shape: Sequence[Ints], tensors_dtype: Sequence[dt.dtype], dim: int, needs: Sequence[bool]
) -> list[Tensor | None]:
    grads: list[Tensor | None] = []
    dim, at = wrap_dim(dim, g.dim()) if g._array.shape != (0,) else 0, 0
    every = is_watched()  # PyTorch cuts the parts that nobody asks for, too
    for shape, d, needed in zip(tensors_shape, tensors_dtype, needs, strict=True):
        empty = shape == (0,)
        end = at if empty else at + shape[dim]
        part = None
        if needed or every:
            part = g.new_zeros((0,)) if empty else slice_.apply(g, dim, at, end, 1)
        grads.append(fit_gradient(part, shape, d) if needed else None)
        at = end
    return grads


def into_joined(out: Any, join: Callable[..., Tensor], values: Sequence[Any], name: str) -> Any:
    """The `out=` form of what joins tensors."""
    tensors = values[0]
    if isinstance(out, TensorBase):
        if tensors and not dt.can_cast(result_type(*tensors), out.dtype):
            local.state.within(NO_GRAD, join, *values)  # what is wrong with the tensors is said first
            raise _cannot_cast(out)
        if any([out is t or out._backend.xp.shares_memory(out._array, t._array) for t in tensors]):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )
    return into(out, join, values, name)


def _into_joined(op: Op, out: Any, values: Sequence[Any]) -> Any:
    return into_joined(out, op.apply, values, op.signature.name)


def _into_cat(op: Op, out: Any, values: Sequence[Any]) -> Any:
    tensors, dim = values
    if isinstance(out, TensorBase) and tensors and not dt.can_cast(result_type(*tensors), out.dtype):
        _check_cat([t._array for t in tensors], dim)
        raise _cannot_cast(out)
    return _into_joined(op, out, values)


def _cannot_cast(out: Tensor) -> Exception:
    return TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.dtype.legacy}")


def _some(error: Exception) -> Callable[..., None]:
    """The check that there are tensors to join."""

    def check(tensors: Sequence[Tensor], *more: Any) -> None:
        if not tensors:
            raise error

    return check


def _filled_up(tensors: Sequence[Tensor], dim: int) -> tuple[Any, ...]:
    """Tensors of shape (0,), which may stand beside any others, in a shape that batches of them may have too."""
    shape = next((t._array.shape for t in tensors if len(t._array.shape) != 1), None)
    if shape is None or all([t._array.shape != (0,) for t in tensors]):
        return tensors, dim
    at = wrap_dim(dim, len(shape))
    empty = (*shape[:at], 0, *shape[at + 1 :])
    return tuple([t.reshape(empty) if t._array.shape == (0,) else t for t in tensors]), dim


cat = LaidOp(
    "cat(Tensor[] tensors, int dim=0)",
    _cat,
    {"tensors": _cat_backward},
    promote=("tensors",), check_form=_some(ValueError("torch.cat(): expected a non-empty list of Tensors")),
    into=_into_cat, linear=True, batch=Leading(given=_filled_up), shows="dim",
)  # fmt: skip
publish(cat, names=("cat", "concat", "concatenate"), method=False)


def _stack(xp: Namespace, arrays: Sequence[Any], dim: int) -> Any:
    first = arrays[0].shape
    if dim:
        dim = wrap_dim(dim, len(first) + 1)
    for at, array in enumerate(arrays):
        if array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(array.shape)} "
                f"at entry {at}"
            )
    out = xp.empty((*first[:dim], len(arrays), *first[dim:]), arrays[0].dtype)
    if dim == 0 and first and out.size:  # one after the other
        xp.concatenate(arrays, 0, out=out.reshape((-1, *first[1:])))
        return out
    before = (slice(None),) * dim
    return xp.concatenate([array[(*before, None)] for array in arrays], dim, out=out)


def _stack_backward(
    g: Tensor, tensors_dtype: Sequence[dt.dtype], dim: int, needs: Sequence[bool]
) -> list[Tensor | None]:
    grads = []
    for at, (d, needed) in enumerate(zip(tensors_dtype, needs, strict=True)):
        part = select.apply(g, dim, at) if needed else None
        grads.append(part if part is None else fit_gradient(part, part._array.shape, d))
    return grads


stack = Op(
    "stack(Tensor[] tensors, int dim=0)",
    _stack,
    {"tensors": _stack_backward},
    promote=("tensors",), check_form=_some(RuntimeError("stack expects a non-empty TensorList")), into=_into_joined,
    linear=True, batch=Leading(more=1),
)  # fmt: skip
publish(stack, method=False)


def _stacker(name: str, raised: Callable[[Tensor], Tensor], dim: int, doc: str) -> None:
    def join(tensors: Sequence[Tensor]) -> Tensor:
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        given = tuple([raised(t) for t in tensors])
        return cat.apply(given, 0 if dim == 1 and given[0].dim() == 1 else dim)

    join.__doc__ = doc
    publish_python(f"{name}(Tensor[] tensors)", join, method=False, into=into_joined)


_stacker("hstack", at_least_1d, 1, "Side by side: along the second dimension, or the first of what has only one.")
_stacker("vstack", at_least_2d, 0, "On top of each other: along the first dimension, after making rows of vectors.")
_stacker("row_stack", at_least_2d, 0, "On top of each other: along the first dimension, after making rows of vectors.")
_stacker("dstack", at_least_3d, 2, "Behind each other: along the third dimension.")
_stacker(
    "column_stack", lambda t: reshape(t, (t.numel(), 1)) if t.dim() <= 1 else t, 1,
    "Side by side, after making columns of vectors.",
)  # fmt: skip


def _block_diag(xp: Namespace, arrays: Sequence[Any]) -> Any:
    for at, array in enumerate(arrays):
        if array.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {at} has {array.ndim} "
                "dimensions"
            )
    blocks = [array.reshape((1,) * (2 - array.ndim) + array.shape) for array in arrays]
    whole = xp.zeros((sum([b.shape[0] for b in blocks]), sum([b.shape[1] for b in blocks])), blocks[0].dtype)
    row = column = 0
    for b in blocks:
        whole[row : row + b.shape[0], column : column + b.shape[1]] = b
        row += b.shape[0]
        column += b.shape[1]
    return whole


def _block_diag_backward(
    g: Tensor, tensors_shape: Sequence[Ints], tensors_dtype: Sequence[dt.dtype], needs: Sequence[bool]
) -> list[Tensor | None]:
    grads: list[Tensor | None] = []
    row = column = 0
    for shape, d, needed in zip(tensors_shape, tensors_dtype, needs, strict=True):
        rows, columns = (1,) * (2 - len(shape)) + tuple(shape)
        part = None
        if needed:
            part = slice_.apply(slice_.apply(g, 0, row, row + rows, 1), 1, column, column + columns, 1)
            part = fit_gradient(part if len(shape) == 2 else reshape(part, tuple(shape)), tuple(shape), d)
        grads.append(part)
        row += rows
        column += columns
    return grads


def _padded_rows(tensors: Sequence[Tensor]) -> Tensor:
    """The same, each matrix being filled up with zeros to rows of the whole."""
    blocks = [at_least_2d(t) for t in tensors]
    width, column, rows = sum([b.shape[1] for b in blocks]), 0, []
    for b in blocks:
        height, columns = b.shape
        sides = [b.new_zeros((height, column)), b, b.new_zeros((height, width - column - columns))]
        rows.append(cat.apply(tuple(sides), 1))
        column += columns
    return cat.apply(tuple(rows), 0)


_block_diag_op = Op(
    "block_diag(Tensor[] tensors)", _block_diag, {"tensors": _block_diag_backward}, promote=("tensors",), linear=True,
    batch=_padded_rows, shows="",
)  # fmt: skip


@function("block_diag")
@overridable
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with these matrices along its diagonal, and zeros elsewhere."""
    tensors = several(tensors)
    if not tensors:
        return empty((1, 0))
    return _block_diag_op.apply(tuple(tensors))


# ---- all combinations of the elements of vectors


@function("meshgrid")
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """For each vector, its values over the grid that all of them span."""
    if needs_dispatch(tensors, {}):
        return dispatch(meshgrid, tensors, {"indexing": indexing})
    tensors = spread(tensors)
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t.device != tensors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in tensors:
        if t.dim() > 1:
            if t.dtype.is_complex:  # whose real part is what PyTorch prints
                errors.tell_of_lost_part()
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
    places = list(range(len(tensors)))
    if indexing == "xy":
        places[:2] = places[1::-1]
    shape = tuple([tensors[p].numel() for p in places])
    return tuple([
        expand.apply(view.apply(t, along_dim(places.index(at), len(places))), shape, False)
        for at, t in enumerate(tensors)
    ])  # fmt: skip


@function("cartesian_prod")
@overridable
def cartesian_prod(*tensors: Any) -> Tensor:
    """Every way to take one element of each vector, a row for each."""
    tensors = several(tensors)
    for t in tensors:
        _check_vector(t)
    if len(tensors) == 1:
        return tensors[0]
    return stack.apply(tuple([flatten(grid) for grid in meshgrid(*tensors, indexing="ij")]), 1)


def _check_vector(t: Tensor) -> None:
    if t.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")


@published("combinations(Tensor self, int r=2, bool with_replacement=False)", method=False)
def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every way to take `r` elements of a vector, in order, a row for each."""
    _check_vector(self)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return self.new_empty((0,))
    count = self.numel()
    grids = meshgrid(*[self] * r, indexing="ij")
    chosen = meshgrid(*[arange(count, dtype=dt.int64, layout=self.layout, device=self.device)] * r, indexing="ij")
    mask = full((count,) * r, True, dtype=dt.bool_, layout=self.layout, device=self.device)
    for a, b in itertools.pairwise(chosen):
        mask *= a <= b if with_replacement else a < b
    return stack.apply(tuple([grid.masked_select(mask) for grid in grids]), 1)


describe(
    cat="""The tensors joined along a dimension that is there; the others must agree.

    >>> torch.cat([torch.ones(2, 1), torch.zeros(2, 2)], dim=1)
    tensor([[1., 0., 0.],
            [1., 0., 0.]])
    """,
    stack="""The tensors, of one size, joined along a new dimension.

    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """,
)
