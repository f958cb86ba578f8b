"""Copies with the elements in another order, repeated, or partly zeroed."""

from __future__ import annotations

from typing import Any

from ...core.declare import ITSELF, Composite, LaidOp, Op, describe, publish, publish_python, published
from ...core.machine import LEADING, Leading, Tensor, TensorBase
from ...core.values import Array, Backend, Namespace, contiguous_format, dt, not_implemented_for, wrap_dim, wrap_dims
from ..making.copy import clone, in_order_of
from .shape import Ints, expand, flatten, unsqueeze, with_ndim

# ---- another order


def _flip(backend: Backend, array: Array, dims: Ints) -> Any:
    turned = wrap_dims(dims, array.ndim)
    if not array.ndim:
        return array.copy()
    backwards = slice(None, None, -1)
    result = array[tuple([backwards if d in turned else slice(None) for d in range(array.ndim)])].copy("K")
    return in_order_of(backend, result, array)


flip = LaidOp("flip(Tensor self, int[] dims)", _flip, {"self": ITSELF}, linear=True, batch=LEADING)
publish(flip)


def _flip_one(name: str, dim: int) -> None:
    def flip_one(self: Tensor) -> Tensor:
        if self.dim() <= dim:
            raise RuntimeError(f"Input must be >= {dim + 1}-d.")
        return flip.apply(self, (dim,))

    flip_one.__doc__ = f"The tensor turned round along dimension {dim}."
    publish_python(f"{name}(Tensor self)", flip_one)


_flip_one("flipud", 0)
_flip_one("fliplr", 1)


def _roll(backend: Backend, array: Array, shifts: Ints, dims: Ints) -> Any:
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and (dims or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and not array.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    without_memory = backend.device.type == "meta"
    axes = tuple([wrap_dim(d, array.ndim) for d in dims]) if array.size or without_memory else ()
    if not array.size:
        return in_order_of(backend, array.copy(), array)
    xp = backend.xp
    return xp.roll(xp.ascontiguousarray(array).reshape(array.shape), shifts if dims else shifts[0], axes or None)


def _roll_batch(self: Tensor, shifts: Ints, dims: Ints) -> Tensor:
    if dims:
        return roll.apply(self, shifts, tuple([d + 1 for d in wrap_dims(dims, self.dim() - 1)]))
    flat = flatten(self, 1) if self.dim() > 1 else unsqueeze.apply(self, 1)
    return roll.apply(flat, shifts, (1,)).reshape(self.shape)


roll: LaidOp = LaidOp(
    "roll(Tensor self, int[1] shifts, int[1] dims=[])",
    _roll,
    {"self": lambda g, shifts, dims: roll.apply(g, tuple([-n for n in shifts[::-1]]), dims[::-1])},
    linear=True,
    batch=Leading(call=_roll_batch),
)
publish(roll)


def _check_rot90(self: Tensor, k: int, dims: Ints) -> None:
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.dim()}")
    if wrap_dim(dims[0], self.dim()) == wrap_dim(dims[1], self.dim()):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")


def _rot90(backend: Backend, array: Array, k: int, dims: Ints) -> Any:
    first, second = [wrap_dim(d, array.ndim) for d in dims]
    k %= 4
    if not k:
        return array.copy("C")
    turned = _flip(backend, array, ((second,), (first, second), (first,))[k - 1])
    if k == 2:
        return turned
    return (turned if turned.size else backend.definite(turned)).swapaxes(first, second)


rot90: LaidOp = LaidOp(
    "rot90(Tensor self, int k=1, int[] dims=[0, 1])",
    _rot90,
    {"self": lambda g, k, dims: rot90.apply(g, -k, dims)},
    check=_check_rot90, linear=True, batch=LEADING,
)  # fmt: skip
publish(rot90)


# ---- repeated


def _repeat(xp: Namespace, array: Array, repeats: Ints) -> Array:
    lead = len(repeats) - array.ndim
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = [n * have for n, have in zip(repeats, (1,) * lead + array.shape, strict=True)]
    if min(repeats, default=1) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {shape}")
    if 0 in shape:
        return xp.empty(shape, array.dtype)
    return xp.ascontiguousarray(xp.tile(array, repeats)).reshape(shape)


def _repeat_backward(g: Tensor, self_shape: Ints, repeats: Ints) -> Tensor:
    """The sum over all copies: each dimension is split into copies and the places within one."""
    lead = len(repeats) - len(self_shape)
    if 0 in repeats:
        return g.new_zeros(self_shape)
    if lead:
        g = g.sum(list(range(lead)))
    split: list[int] = []
    copies = []
    for n, size in zip(repeats[lead:], self_shape, strict=True):
        if n > 1:
            copies.append(len(split))
            split.append(n)
        split.append(size)
    return g.reshape(split).sum(copies) if copies else g


repeat: Op = Op(
    "repeat(Tensor self, int[] repeats)",
    _repeat,
    {"self": _repeat_backward},
    linear=True,
    batch=Leading(call=lambda self, repeats: repeat.apply(with_ndim(self, len(repeats)), (1, *repeats))),
)
publish(repeat, function=False)


@published("tile(Tensor self, int[] dims)")
def tile(self: Tensor, dims: Ints) -> Tensor:
    """Copies of the tensor side by side, so many along each of the last dimensions."""
    return repeat.apply(self, (1,) * (self.dim() - len(dims)) + dims)


def _places(xp: Namespace, repeats: Array, output_size: int | None) -> Array:
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype.name not in ("int64", "int32"):
        raise not_implemented_for("repeat_interleave_cpu", dt.of_numpy(repeats.dtype))
    if not repeats.size:
        return xp.empty((0,), repeats.dtype)
    if (repeats < 0).any().item():
        raise RuntimeError("repeats can not be negative")
    ends = repeats.cumsum()
    total = ends[-1].item()
    if output_size is not None and output_size != total:
        raise RuntimeError("allocated size does not match required size")
    return xp.searchsorted(ends, xp.arange(total), side="right").astype(repeats.dtype, copy=False)


places_of_repeats = Op("repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None)", _places)


def repeat_interleave(self: Tensor, repeats: Any, dim: int | None = None, output_size: int | None = None) -> Tensor:
    """Each element (or slice along `dim`) so many times in a row."""
    if dim is None:
        self, dim = flatten(self), 0
    shape = self._array.shape
    dim = wrap_dim(dim, len(shape))
    if not isinstance(repeats, TensorBase):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        size = shape[dim] if shape else 1
        if output_size is not None and output_size != size * repeats:
            raise RuntimeError(
                f"repeat_interleave: Invalid output_size, expected {size * repeats} but got {output_size}"
            )
        wide = expand.apply(unsqueeze.apply(self, dim + 1), (*shape[: dim + 1], repeats, *shape[dim + 1 :]), False)
        return flatten(clone.apply(wide, contiguous_format), dim, dim + 1)
    if repeats.dim() > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    size = shape[dim] if shape else 1
    if repeats.numel() == 1:
        repeats = expand.apply(repeats.reshape((1,)), (size,), False)
    elif repeats.numel() != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {repeats.numel()} and input.size({dim}) = {size}"
        )
    return self.index_select(dim, places_of_repeats.apply(repeats, output_size))


_interleave_overloads = (
    Composite(
        "repeat_interleave(Tensor self, int repeats, int? dim=None, *, int? output_size=None)", repeat_interleave
    ),
    Composite(
        "repeat_interleave(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None)", repeat_interleave
    ),
)
publish(*_interleave_overloads, function=False)
publish(*_interleave_overloads, places_of_repeats, method=False)


# ---- triangles


def _triangle(name: str) -> Op:
    def kernel(xp: Namespace, array: Array, diagonal: int) -> Any:
        if array.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        most = max(array.shape)
        return getattr(xp, name)(xp.ascontiguousarray(array), max(-most, min(diagonal, most)))

    op = Op(
        f"{name}(Tensor self, int diagonal=0)",
        kernel,
        {"self": ITSELF},
        linear=True, batch=LEADING, repeats=True,
    )  # fmt: skip
    publish(op, inplace=True)
    return op


tril = _triangle("tril")
triu = _triangle("triu")


describe(
    flip="The tensor with the order of its elements reversed along these dimensions.",
    repeat="The tensor copied so many times along each dimension.",
    repeat_interleave="""Each element, or row along a dimension, repeated so many times in its place.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """,
    roll="The elements moved along dimensions; those that leave at one end come in at the other.",
    rot90="The tensor turned by quarters of a circle in the plane of two dimensions.",
    tril="The lower triangle of matrices, with zeros above a diagonal.",
    triu="The upper triangle of matrices, with zeros below a diagonal.",
)
