"""Views that keep all elements: other shapes and orders of the same memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...backends.sparse import without
from ...core.declare.conversions import is_tensor
from ...core.declare.elementwise import sum_to
from ...core.declare.on_backend import LaidOp, LaidView
from ...core.declare.op import Op
from ...core.declare.publishing import function, publish, publish_python, published
from ...core.declare.told import describe
from ...core.declare.view_op import ViewOp
from ...core.machine import fast
from ...core.machine.batching import LEADING, Leading
from ...core.machine.node import UNVERSIONED, shared_counter
from ...core.machine.operands import in_memory, values_in_inference
from ...core.machine.overrides import PLAIN, overridable, public
from ...core.machine.tensor import Tensor
from ...core.native import quick
from ...core.state import local
from ...core.values.arrays import Array, Backend, Namespace
from ...core.values.dtype import dtype, of_numpy
from ...core.values.errors import broadcast_shapes as common_shape
from ...core.values.errors import type_name, type_text, wrap_dim, wrap_dims
from ...core.values.layout import contiguous_format, reshaped_strides, sparse_coo, strided
from ...core.values.size import Size
from ..making.copy import clone

Ints = tuple[int, ...]


def along_dim(dim: int, ndim: int) -> Ints:
    """The shape in which a vector lies along one of `ndim` dimensions."""
    return tuple([-1 if d == dim else 1 for d in range(ndim)])


def several(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a call `f(a, b)`."""
    for at, t in enumerate(tensors):
        if not is_tensor(t):
            raise TypeError(f"expected Tensor as element {at} in argument 0, but got {type_name(t)}")
    return values_in_inference(tensors)


def spread(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a call `f(a, b)` or `f([a, b])`."""
    listed = len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
    return several(tuple(tensors[0]) if listed else tensors)


# ---- other shapes


def infer_size(shape: Ints, numel: int) -> Ints:
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


def _view(backend: Backend, array: Array, size: Ints) -> Any:
    shape = infer_size(size, array.size)
    if array.size and array.flags.c_contiguous and 1 not in array.shape:
        return array.reshape(shape)
    strides = reshaped_strides(array.shape, backend.strides(array), shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return backend.lay(array, shape, strides)


view = LaidView("view(Tensor self, int[] size)", _view, {"self": lambda g, self_shape: g.reshape(self_shape)})
reshape_alias = LaidView(
    "_reshape_alias(Tensor self, int[] size, int[] stride)",
    lambda backend, array, size, stride: backend.lay(array, size, stride),
    {"self": lambda g, self_shape: g.reshape(self_shape)},
    batch=Leading(call=lambda self, size, stride: reshape(self, (self.shape[0], *size))),
    seen_as=lambda self, size, stride: ("view", (self, size)),
)


def _made_there(result: Tensor, values: Sequence[Any]) -> Tensor:
    """It counts as made where its operand was, whose memory it shows, but has a version of its own."""
    if values[0]._counter is UNVERSIONED:
        result._counter = UNVERSIONED
    return result


def _with_bits(op: Op, values: Sequence[Any]) -> Tensor:
    result = op.apply(in_memory(values[0]), *values[1:])
    result._backend = values[0]._backend
    return result


unsafe_view = LaidOp(
    "_unsafe_view(Tensor self, int[] size)",
    _view,
    {"self": lambda g, self_shape: g.reshape(self_shape)},
    linear=True, batch=Leading(call=lambda self, size: reshape(self, (self.shape[0], *size))), finish=_made_there,
    run_lazily=_with_bits,
)  # fmt: skip


def _of_one_version(result: Tensor, values: Sequence[Any]) -> Tensor:
    """The result shares memory and version with the operand, but is no view of it for autograd."""
    result._counter = shared_counter(values[0])
    return result


def _view_dtype(backend: Backend, array: Array, dtype: dtype) -> Any:
    old, new = array.itemsize, dtype.itemsize
    if old == new:
        return array.view(dtype.numpy)
    named = f"to view {of_numpy(array.dtype).legacy} as {dtype.legacy} (different element sizes)"
    if not array.ndim:
        raise RuntimeError(f"self.dim() cannot be 0 {named}")
    strides, offset = backend.strides(array), backend.offset(array)
    by = max(new // old, 1)
    if array.shape[-1] % by:
        raise RuntimeError(f"self.size(-1) must be divisible by {by} {named}, but got {array.shape[-1]}")
    if strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {named}, but got {strides[-1]}")
    if offset % by:
        raise RuntimeError(f"self.storage_offset() must be divisible by {by} {named}, but got {offset}")
    for d, s in enumerate(strides[:-1]):
        if s % by:
            raise RuntimeError(f"self.stride({d}) must be divisible by {by} {named}, but got {s}")
    return array.view(dtype.numpy)


def _check_resolved(self: Tensor, dtype: dtype) -> None:
    for marked, what in ((self.is_conj(), "conjugate view tensors"), (self.is_neg(), "tensors with negative bit set")):
        if marked:
            raise RuntimeError(f"torch.Tensor.view is not supported for {what} when converting to a different dtype.")


view_dtype = LaidOp(
    "view.dtype(Tensor self, ScalarType dtype)", _view_dtype, check=_check_resolved, finish=_of_one_version,
    batch=LEADING,
)  # fmt: skip
publish(view, view_dtype, function=False)
publish_python(
    "view_as(Tensor self, Tensor other)", lambda self, other: view.apply(self, other._array.shape), function=False,
)


def _detached_at_once(op: Op, method: bool = False) -> Callable[..., Tensor]:
    """The function: nothing is asked of a plain tensor, or of a parameter."""
    general = op.general_function(method)

    def call(*args: Any, **named: Any) -> Tensor:
        if len(args) == 1 and not named and local.state.mode.plain:
            t = args[0]
            if t.__class__ is Tensor or (t.__class__ in PLAIN and not t._backend.handed):
                made = fast.wrap_unmarked(t._array, t.dtype, t._backend.real)
                made._counter = shared_counter(t)
                return made
        return general(*args, **named)

    made = quick(call, "detach")
    public[general] = made
    return made


detach = Op(
    "detach(Tensor self)", lambda xp, self: self, finish=_of_one_version, fast=_detached_at_once, batch=LEADING,
    run_lazily=_with_bits, by_form=False,
)  # fmt: skip
publish(detach)
alias = ViewOp("alias(Tensor self)", lambda xp, self: self, {"self": lambda g: g})
publish(alias, function=False, method=False)


def reshape(input: Tensor, shape: Ints) -> Tensor:
    """The same elements in another shape: a view where strides allow it, a copy elsewhere."""
    viewed = _viewed(input, shape)
    if viewed is None:
        return unsafe_view.apply(clone.apply(input, contiguous_format), infer_size(shape, input._array.size))
    op, arguments = viewed
    return op.apply(*arguments)


def _viewed(input: Tensor, shape: Ints) -> tuple[Op, tuple[Any, ...]] | None:
    """The view, with its arguments, that shows a tensor in another shape; None where strides do not allow it."""
    array = input._array
    if input._backend.layout is sparse_coo:
        raise RuntimeError("reshape is not implemented for sparse tensors")
    if input._backend.layout is not strided:
        raise without(input._backend.layout, "is_contiguous")
    if array.flags.c_contiguous:
        return view, (input, shape)
    shape = infer_size(shape, array.size)
    strides = reshaped_strides(array.shape, input._backend.strides(array), shape)
    return None if strides is None else (reshape_alias, (input, shape, strides))


publish_python("reshape(Tensor self, int[] shape)", reshape, comes_to=_viewed)
publish_python(
    "reshape_as(Tensor self, Tensor other)", lambda self, other: reshape(self, other._array.shape), function=False,
)


def _flat_shape(self: Tensor, start_dim: int, end_dim: int) -> tuple[int, ...] | None:
    """The shape with these dimensions as one; None where they are one."""
    shape = self._array.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return (1,)
    return None if start == end else (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])


def _flattened(self: Tensor, start_dim: int, end_dim: int) -> Any:
    shape = _flat_shape(self, start_dim, end_dim)
    return None if shape is None else _viewed(self, shape)


@published("flatten(Tensor self, int start_dim=0, int end_dim=-1)", comes_to=_flattened)
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """These dimensions as one."""
    shape = _flat_shape(self, start_dim, end_dim)
    return self if shape is None else self.reshape(shape) if self.dim() else reshape(self, shape)


publish_python("ravel(Tensor self)", lambda self: reshape(self.contiguous(), (-1,)))


@published("unflatten(Tensor self, int dim, int[] sizes)")
def unflatten(self: Tensor, dim: int, sizes: Ints) -> Tensor:
    """One dimension as several."""
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape = self._array.shape
    dim = wrap_dim(dim, len(shape))
    if not shape:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    try:
        sizes = infer_size(sizes, shape[dim])
    except RuntimeError as e:
        if "is invalid" not in str(e):
            raise RuntimeError(f"unflatten got an unexpected error:\n{e}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the "
            "input tensor"
        ) from None
    return view.apply(self, (*shape[:dim], *sizes, *shape[dim + 1 :]))


# ---- dimensions of size one


def _squeeze_dims(xp: Namespace, array: Array, dim: Any) -> Any:
    dims = wrap_dims((dim,) if dim.__class__ is int else dim, array.ndim)
    return array.squeeze(tuple([d for d in dims if array.ndim and array.shape[d] == 1]))


def _unsqueezed(g: Tensor, self_shape: Any, dim: Any = None) -> Tensor:
    """The gradient with the dimensions of size one that were taken away."""
    ndim = len(self_shape)
    for d in range(ndim) if dim is None else sorted(wrap_dims((dim,) if dim.__class__ is int else dim, ndim)):
        g = unsqueeze.apply(g, d) if ndim and self_shape[d] == 1 else g
    return g


squeeze_vjp = {"self": lambda g, self_shape, dim: _unsqueezed(g, self_shape, dim)}
squeeze = ViewOp(
    "squeeze(Tensor self)",
    lambda xp, array: array.squeeze(),
    {"self": lambda g, self_shape: _unsqueezed(g, self_shape)},
    batch=lambda self: squeeze_dims.apply(self, tuple([d for d, n in enumerate(self.shape) if n == 1])),
)
_DIMS = "dim self_sym_sizes"
squeeze_dim = ViewOp(
    "squeeze.dim(Tensor self, int dim)", _squeeze_dims, squeeze_vjp, node="SqueezeBackward1", shows=_DIMS
)
squeeze_dims: ViewOp = ViewOp(
    "squeeze.dims(Tensor self, int[] dim)", _squeeze_dims, squeeze_vjp, node="SqueezeBackward2", shows=_DIMS
)
publish(squeeze, squeeze_dim, squeeze_dims)


def _unsqueeze(backend: Backend, array: Array, dim: int) -> Any:
    shape = array.shape
    dim = wrap_dim(dim, array.ndim + 1)
    wider = (*shape[:dim], 1, *shape[dim:])
    if array.size and array.flags.c_contiguous and 1 not in shape:
        return array.reshape(wider)
    strides = backend.strides(array)
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return backend.lay(array, wider, (*strides[:dim], step, *strides[dim:]))


unsqueeze = LaidView(
    "unsqueeze(Tensor self, int dim)", _unsqueeze, {"self": lambda g, dim: g.squeeze(dim)}, batch=Leading(more=1)
)
publish(unsqueeze)


# ---- repeating without copying


def _expand(backend: Backend, array: Array, size: Ints, implicit: bool) -> Any:
    have, steps = array.shape, backend.strides(array)
    lead = len(size) - len(have)
    if lead < 0:
        raise RuntimeError(
            f"expand({type_text(of_numpy(array.dtype), backend.device)}{{{list(have)}}}, size={list(size)}): "
            f"the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(have)})"
        )
    shape: list[int] = []
    strides: list[int] = []
    for d in range(len(size) - 1, -1, -1):
        n = size[d]
        if d >= lead:
            old, step = have[d - lead], steps[d - lead]
            n = old if n == -1 else n
        elif n == -1 and have:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {d}"
            )
        else:
            old, step = 1, shape[-1] * strides[-1] if shape else 0
        if n != old:
            if old != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({n}) must match the existing size ({old}) at non-singleton "
                    f"dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(have)}"
                )
            old, step = n, 0
        shape.append(old)
        strides.append(step)
    if min(shape, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    return backend.lay(array, tuple(reversed(shape)), tuple(reversed(strides)))


def with_ndim(batch: Tensor, ndim: int) -> Tensor:
    """A batch of tensors given dimensions of size one in front of their own until there are `ndim`."""
    return reshape(batch, (batch.shape[0],) + (1,) * (ndim + 1 - batch.dim()) + tuple(batch.shape[1:]))


expand: LaidView = LaidView(
    "expand(Tensor self, int[] size, *, bool implicit=False)",
    _expand,
    {"self": lambda g, self_shape: sum_to(g, self_shape)},
    batch=Leading(
        call=lambda self, size, implicit: expand.apply(with_ndim(self, len(size)), (self.shape[0], *size), implicit)
    ),
)
publish(expand, function=False)
publish_python(
    "expand_as(Tensor self, Tensor other)",
    lambda self, other: expand.apply(self, other._array.shape, False),
    function=False,
)
publish_python("broadcast_to(Tensor self, int[] size)", lambda self, size: expand.apply(self, size, False))


@function("broadcast_tensors")
@overridable
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    tensors = several(tensors)
    shape = common_shape(*[t._array.shape for t in tensors])
    return tuple([t if t._array.shape == shape else expand.apply(t, shape, False) for t in tensors])


@function("broadcast_shapes")
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes have when broadcast together."""
    for shape in shapes:
        if not isinstance(shape, (int, Sequence)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    result = [1] * max([len(s) for s in given], default=0)
    for at, shape in enumerate(given):
        for back in range(1, len(shape) + 1):
            n = shape[-back].__index__()
            if n < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if n not in (1, result[-back]):
                if result[-back] != 1:
                    raise RuntimeError(
                        f"Attempting to broadcast a dimension of length {n} at {-back}! Mismatching argument at index "
                        f"{at} had {shape}; but expected shape should be broadcastable to {result}"
                    )
                result[-back] = n
    return Size(result)


# ---- at least so many dimensions


def _at_least(ndim: int, raised: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    @overridable
    def call(*tensors: Any) -> Any:
        if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
            return raised(values_in_inference(tensors[0]))
        return tuple([raised(t) for t in spread(tensors)])

    call.__name__ = call.__qualname__ = f"atleast_{ndim}d"
    call.__doc__ = f"The tensor, or each tensor, with at least {ndim} dimension{'s' if ndim > 1 else ''}."
    return function(call.__name__)(call)


def at_least_1d(t: Tensor) -> Tensor:
    return t if t._array.shape else reshape(t, (1,))


def at_least_2d(t: Tensor) -> Tensor:
    if not t._array.shape:
        return reshape(t, (1, 1))
    return unsqueeze.apply(t, 0) if t.dim() == 1 else t


def at_least_3d(t: Tensor) -> Tensor:
    if not t._array.shape:
        return reshape(t, (1, 1, 1))
    if t.dim() == 1:
        return unsqueeze.apply(unsqueeze.apply(t, 0), -1)
    return unsqueeze.apply(t, -1) if t.dim() == 2 else t


_at_least(1, at_least_1d)
_at_least(2, at_least_2d)
_at_least(3, at_least_3d)


publish_python(
    "is_same_size(Tensor self, Tensor other) -> bool", lambda self, other: self._array.shape == other._array.shape,
    by_form=False,
)
publish_python("numel(Tensor self)", lambda self: self._array.size, method=False, by_form=False)


describe(
    broadcast_to="A view of the tensor with the size that it is broadcast to.",
    detach="The same memory as a tensor without history: no gradient flows through it.",
    expand="""A view in which dimensions of size 1 are repeated to a larger size without copying; -1 keeps
    a size.

    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """,
    expand_as="A view expanded to the size of another tensor.", is_same_size="Whether two tensors have the same size.",
    numel="The number of elements.", ravel="The elements as a vector; a view where memory allows.",
    reshape_as="The elements in the shape of another tensor.",
    squeeze="A view without dimensions of size 1: all of them, or those that are named.",
    unsqueeze="A view with a new dimension of size 1.",
    view="The same memory in another shape, or read as another dtype; -1 stands for the size that is left.",
    view_as="A view in the shape of another tensor.",
)  # fmt: skip
