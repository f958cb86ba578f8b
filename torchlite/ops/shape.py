"""Views: other shapes and parts of the same memory."""

from __future__ import annotations

import math
from typing import Any

from ..core.dtype import of_numpy
from ..core.errors import wrap_dim, wrap_dims
from ..core.elementwise import sum_to
from ..core.op import Op, ViewOp
from ..core.publish import function, method, publish, publish_python
from ..core.tensor import Tensor
from ..core.view import AS_STRIDED


class _AsStrided(ViewOp):
    """Geometry in elements over the whole storage; needs the backend, since only it knows where an array lies."""

    def prepare(self, values: Any, backend: Any) -> Any:
        t, size, strides, offset = values
        return [backend, t.array, size, strides, backend.offset(t.array) if offset is None else offset], t.dtype

    def find_kernel(self, backend: Any) -> Any:
        kernel = self.kernels[backend] = _as_strided
        return kernel


def _as_strided(backend: Any, array: Any, size: Any, strides: Any, offset: int) -> Any:
    if len(size) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in strides):
        raise RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: " + str(list(strides)))
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    needed = 0 if 0 in size else (offset + 1 + sum((n - 1) * s for n, s in zip(size, strides, strict=True))) * array.itemsize
    available = backend.storage(array).size if needed else 0
    if needed > available:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(strides)}, storage offset {offset}, and itemsize "
            f"{array.itemsize} requiring a storage size of {needed} are out of bounds for storage of size {available}"
        )
    return backend.as_strided(array, size, strides, offset)


def arange_like(t: Tensor) -> Tensor:
    from .create import arange

    return arange(t.numel(), device=t.device)


def _extent(size: Any, strides: Any, offset: int) -> int:
    return offset if 0 in size else offset + 1 + sum((n - 1) * s for n, s in zip(size, strides, strict=True))


def _overlaps(size: Any, strides: Any) -> bool:
    """Whether two elements of this geometry may share a place."""
    reach = 0
    for s, n in sorted(zip(strides, size, strict=True)):
        if n > 1:
            if s <= reach:
                return True
            reach += (n - 1) * s
    return False


def _as_strided_backward(
    g: Tensor, self_shape: Any, self_stride: Any, self_storage_offset: int, size: Any, stride: Any, storage_offset: Any
) -> Tensor:
    """Add each element of `g` to the place in the input that it was read from."""
    start = self_storage_offset if storage_offset is None else storage_offset
    low = min(start, self_storage_offset)
    reach = max(_extent(self_shape, self_stride, self_storage_offset), _extent(size, stride, start)) - low
    flat = g.new_zeros((reach,))
    if _overlaps(size, stride):
        places = arange_like(flat).as_strided(size, stride, start - low)
        flat = flat.index_add(0, places.reshape((-1,)), g.reshape((-1,)))
    else:
        flat.as_strided(size, stride, start - low).copy_(g)
    return flat.as_strided(self_shape, self_stride, self_storage_offset - low)


as_strided = _AsStrided(
    "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None)",
    None,
    {"self": _as_strided_backward},
)
publish(as_strided)
AS_STRIDED.append(as_strided.apply)


def infer_size(shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """`shape` with its -1 worked out; RuntimeError when it cannot hold `numel` elements."""
    if -1 in shape:
        at = shape.index(-1)
        if -1 in shape[at + 1 :]:
            raise RuntimeError("only one dimension can be inferred")
        rest = math.prod(shape[:at]) * math.prod(shape[at + 1 :])
        if rest == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size "
                "-1 can be any value and is ambiguous"
            )
        if rest > 0 and numel % rest == 0:
            return (*shape[:at], numel // rest, *shape[at + 1 :])
    elif math.prod(shape) == numel and min(shape, default=0) >= 0:
        return shape
    for d in shape:
        if d < -1:
            raise RuntimeError(f"invalid shape dimension {d} at index {shape.index(d)} of shape {list(shape)}")
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def _view(xp: Any, array: Any, size: tuple[int, ...]) -> Any:
    shape = infer_size(size, array.size)
    if array.flags.c_contiguous:
        return array.reshape(shape)
    try:
        return xp.reshape(array, shape, copy=False)
    except ValueError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from None


view = ViewOp("view(Tensor self, int[] size)", _view, {"self": lambda g, self_shape: g.reshape(self_shape)})
publish(view, forms="method")
unsafe_view = Op(
    "_unsafe_view(Tensor self, int[] size)",
    lambda xp, self, size: xp.ascontiguousarray(self).reshape(size),
    {"self": lambda g, self_shape: g.reshape(self_shape)},
    node="UnsafeViewBackward0",
)


def reshape(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The same elements in another shape: a view where strides allow it, a copy elsewhere."""
    shape = infer_size(shape, input.array.size)
    try:
        return view.apply(input, shape)
    except RuntimeError:
        return unsafe_view.apply(input, shape)


publish_python("reshape(Tensor self, int[] shape)", reshape)


def _expand(xp: Any, array: Any, size: tuple[int, ...], implicit: bool) -> Any:
    have = array.shape
    lead = len(size) - len(have)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.{_legacy(array)}Tensor{{{list(have)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    shape = []
    for d, n in enumerate(size):
        old = have[d - lead] if d >= lead else 1
        if n == -1:
            if d < lead:
                raise RuntimeError(
                    f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {d}"
                )
            n = old
        elif n != old and old != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at non-singleton "
                f"dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(have)}"
            )
        shape.append(n)
    return xp.broadcast_to(array, tuple(shape))


def _legacy(array: Any) -> str:
    return of_numpy(array.dtype).legacy


expand = ViewOp(
    "expand(Tensor self, int[] size, *, bool implicit=False)", _expand, {"self": lambda g, self_shape: sum_to(g, self_shape)}
)
publish(expand, forms="method")


def _permute(xp: Any, array: Any, dims: tuple[int, ...]) -> Any:
    if len(dims) != array.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {array.ndim} is not equal to len(dims) = {len(dims)}"
        )
    return array.transpose(dims)


def _unpermute(g: Tensor, dims: tuple[int, ...]) -> Tensor:
    dims = wrap_dims(dims, len(dims))
    return g.permute([dims.index(d) for d in range(len(dims))])


permute = ViewOp("permute(Tensor self, int[] dims)", _permute, {"self": _unpermute})
publish(permute)


def _transpose(xp: Any, array: Any, dim0: int, dim1: int) -> Any:
    ndim = array.ndim
    a, b = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return array.swapaxes(a, b) if ndim else array[...]


transpose = ViewOp(
    "transpose(Tensor self, int dim0, int dim1)", _transpose, {"self": lambda g, dim0, dim1: g.transpose(dim0, dim1)}
)
publish(transpose)


def _t(xp: Any, array: Any) -> Any:
    if array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {array.ndim}D")
    return array.transpose()


t = ViewOp("t(Tensor self)", _t, {"self": lambda g: g.t()}, node="TBackward0")
publish(t)


def _unbind(xp: Any, array: Any, dim: int) -> Any:
    if not array.ndim:
        raise RuntimeError("Dimension specified as 0 but tensor has no dimensions")
    moved = xp.moveaxis(array, wrap_dim(dim, array.ndim), 0)
    return [moved[i, ...] for i in range(moved.shape[0])]


@function("detach")
@method("detach")
def detach(input: Tensor) -> Tensor:
    """This tensor without its history: the same memory, and writes to either are seen by both."""
    return input.alias()
