"""What the ops that write at given places share: their in-place form, their checks, and combining repeated places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import OnBackend, Op
from ...core.machine import Tensor, TensorBase, bump, check_apart, check_no_overlap, fitting_array, tensors_in
from ...core.machine.out_dtypes import check_out_dtype
from ...core.native import in_c
from ...core.state import local
from ...core.values import Array, Backend, Namespace, dt, or_own
from ...kernels.extremes import largest_unsigned
from ...kernels.summing import widened
from ..making.copy import in_order_of
from ..reductions.sets import runs
from ..shapes.shape import along_dim


def not_boolean(mask: Tensor) -> RuntimeError:
    """The error for a mask of another dtype, where places are filled."""
    return RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.cname}")


class Picking(Op):
    """An op by indices: its `out=` is of the result's dtype, and its memory is not read from.

    What is written into the first operand may be written into its very elements.
    """

    gives: dt.dtype | None = None  # the result's dtype, when it is not that of the first operand
    over: str | None = None  # an operand that is read before its memory is written to
    resizes_first: bool = False  # whether `out=` is given its shape before it is asked for elements in one place

    def into(self, out: Any, values: Sequence[Any]) -> Any:
        if not isinstance(out, TensorBase):
            raise TypeError(f"{self.signature.name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        wanted = self.gives or values[0].dtype
        check_out_dtype(self.signature.name, wanted, out.dtype, exact=True)
        if not (self.resizes_first or out._backend.lazy):
            check_no_overlap(out._array)
        over = None if self.over is None else self.signature.by_name[self.over]
        for at, value in enumerate(values):
            for other in tensors_in(value):
                if other is not out or at != over:
                    check_apart(out, other, whole=at > 0 or not isinstance(self, Writing))
        return super().into(out, values)


class Writing(OnBackend, Picking):
    """An op that is defined by what it writes into its first array.

    Out of place it writes into a copy, in this memory order, unless there is a `kernel` for that. An argument `value`
    is one that the kernel gets as an array of the tensor's type.
    """

    exclusive = by_form = True

    def __init__(
        self, schema: str, write: Callable[..., None], vjp: Any = None, *, order: str = "C",
        kernel: Callable[..., Any] | None = None, **more: Any,
    ) -> None:  # fmt: skip
        def on_copy(backend: Backend, self: Array, *arguments: Any) -> Any:
            if kernel is not None:
                return kernel(backend.xp, self, *arguments)
            result = in_order_of(backend, self.copy("K"), self) if order == "K" else self.copy("C")
            write(backend.xp, result, *arguments)
            return result

        super().__init__(schema, on_copy, vjp, **more)
        self.write = write

    def prepare(self, values: Any, backend: Backend) -> tuple[Any, ...]:
        arguments, _ = super().prepare(values, backend)
        d, at = values[0].dtype, self.signature.by_name.get("value")
        if at is not None:
            value = values[at]
            if not isinstance(value, TensorBase) or value.dtype is not d or value._backend.real is not backend:
                arguments[at] = fitting_array(value, d, backend)
        return arguments, d

    def overwrite(self, self_: Tensor, before: Tensor, values: list[Any]) -> None:
        backend = self_._backend.real
        own = self.name in backend.kernels or before._array.dtype in backend.held_as_bits
        if own or not backend.strided or before._array is not self_._array:
            super().overwrite(self_, before, values)
            return
        if self.check is not None:
            self.check(*values)
        arguments, _ = self.prepare(values, backend)
        if arguments[0] is not before._array:  # but a wider copy, for those that are computed so
            super().overwrite(self_, before, values)
            return
        local.state.quiet(self.write, backend.xp, *arguments)
        bump(self_)


@or_own  # devices say so when they are waited for
def check_range(xp: Namespace, index: Array, size: int, error: Callable[[int], Exception], low: int = 0) -> None:
    """Raise `error(i)` for the first entry of 32 or 64 bits outside [low, size)."""
    if index.size:
        from_low = index - low if low else index
        if largest_unsigned(from_low) >= size - low:
            raise error(int(index[(index < low) | (index >= size)].reshape(-1)[0].item()))


def out_of_bounds(dim: int, size: int, kind: type[Exception] = IndexError) -> Callable[[int], Exception]:
    return lambda i: kind(f"index {i} is out of bounds for dimension {dim} with size {size}")


def from_front(index: Any, size: int) -> Any:
    """Negative entries counted from the end."""
    return index + size * (index < 0)


# What `ufunc.at` adds to everywhere.
_ATOMIC = frozenset("fdilq")


def _as_pairs(xp: Namespace, array: Array) -> Array:
    """Complex numbers as pairs of real ones, along a further dimension."""
    return xp.ascontiguousarray(array).reshape((*array.shape, 1)).view(array.real.dtype)


@or_own
def _combine(xp: Namespace, ufunc: str, target: Array, index: Array, values: Array) -> None:
    """`target[index[i]] = ufunc(target[index[i]], values[i])` for every i, repeated ones included.

    `index` is a vector of places along the first dimension of `target`, from the front; `values` has a row for each.
    """
    if not values.size:
        return
    wide = widened(target)
    if wide is not target:
        combine(xp, ufunc, wide, index, widened(values))
        target[...] = wide.astype(target.dtype)
        return
    if ufunc == "add" and target.dtype.kind == "c" and target.flags.c_contiguous:
        combine(xp, ufunc, _as_pairs(xp, target), index, _as_pairs(xp, values))
        return
    row = values.size // index.size
    direct = row < 16 or values.size < 1 << 18 or index.size > 8 * len(target)  # where sorting does not pay
    if ufunc == "add" and target.dtype.char in _ATOMIC and target.flags.c_contiguous and direct:
        if row > 1:
            index = index.reshape(-1, 1) * row + xp.arange(row)
        xp.add.at(target.reshape(-1), index.reshape(-1), values.reshape(-1))
    else:
        places, combined = _by_place(xp, getattr(xp, ufunc), index, values)
        made = getattr(xp, ufunc)(target[places], combined)
        if ufunc == "multiply" and made.dtype.kind == "f" and bool(xp.isnan(made).any()):
            finite = xp.isfinite(target)
            combine(xp, "logical_and", finite, index, xp.isfinite(values))
            made[finite[places] & xp.isnan(made)] = 0  # a zero, by what overflowed
        target[places] = made


combine = in_c("combine", _combine)


def _by_place(xp: Namespace, ufunc: Any, index: Array, values: Any) -> tuple[Any, Any]:
    """The different places in `index`, and the values of each combined: sorted into runs, then halved in rounds."""
    order = index.argsort(kind="stable")
    ordered = index[order]
    new = xp.ones(index.size, dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    starts, run, lengths = runs(xp, new)
    if starts.size == index.size:
        return index, values
    index, values = ordered, values[order]
    rank = xp.arange(index.size) - starts[run]
    left = lengths[run] - rank  # how many of the run come from here on
    step, longest = 1, int(lengths.max().item())
    while step < longest:
        at = xp.flatnonzero((rank % (2 * step) == 0) & (left > step))
        values[at] = ufunc(values[at], values[at + step])
        step *= 2
    return index[starts], values[starts]


def grid(xp: Namespace, index: Array, dim: int) -> tuple[Any, ...]:
    """Index arrays for the places that `index` names along `dim`, at its own position along the others."""
    ndim = index.ndim
    return tuple([
        index if d == dim else xp.arange(n).reshape(along_dim(d, ndim))
        for d, n in enumerate(index.shape)
    ])  # fmt: skip


def flat_places(xp: Namespace, index: Array, dim: int, shape: tuple[int, ...]) -> Any:
    """The same places as positions in a row-major array of this shape."""
    ndim = index.ndim
    step = 1
    places = index
    for d in range(ndim - 1, -1, -1):
        n = index.shape[d]
        if d == dim:
            if step != 1:
                places = places + index * (step - 1)
        elif n > 1:
            places = places + xp.arange(0, n * step, step).reshape((n,) + (1,) * (ndim - 1 - d))
        step *= shape[d]
    return places
