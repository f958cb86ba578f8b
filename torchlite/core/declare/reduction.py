"""Ops along dimensions: `Along` keeps the shape (softmax, cumsum), `Reduction` makes several elements one.

Both take one tensor, `self`, and see to what such ops have in common: dimensions counted from the end, 0-dim operands,
the `dtype` argument, integers that become int64 or floating, halves computed in float32, results laid out row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..machine import LEADING, Tensor, TensorBase, array_of, into
from ..machine.rare import is_idle, refuse_rare
from ..state import is_watched, local
from ..values import Array, Backend, contiguous_strides, dt, errors
from .declaration import Derivative
from .elementwise import fit_gradient, result_dtype
from .op import Op

if TYPE_CHECKING:
    from .op_node import OpNode


def refused(name: str, *dtypes: dt.dtype) -> Callable[[dt.dtype], Exception | None]:
    """A `refuse=` for dtypes without a kernel."""
    return lambda d: errors.not_implemented_for(name, d) if d in dtypes else None


class Along(Op):
    """The result has the operand's shape.

    The kernel is called as `kernel(xp, array, axis, *rest)`, with an `axis` that is in range, an array of the dtype to
    compute in and of at least one dimension, and the arguments that are left after `self`, `dim` and `dtype`.

    `integers` is what becomes of integers when no `dtype` is given: "keep" them, or make them "int64" or "float".
    `result` is the dtype of the results, as in `result_dtype` (elementwise.py). `refuse` gives the error for an
    operand's dtype, or None. The derivative is one formula; its gradient is converted to the operand's dtype.
    """

    batch = LEADING
    by_form = lays = fits_one = True
    real_parts: bool = False  # as of elementwise ops

    def __init__(
        self, schema: str, kernel: Any, vjp: Derivative | None = None, *, integers: str = "keep",
        result: Any = "same", refuse: Callable[[dt.dtype], Exception | None] | None = None, exact_out: bool = False,
        **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(schema, kernel, None if vjp is None else {"self": vjp}, **more)
        self.integers = integers
        self.result = result
        self.refuse = refuse
        self.exact_out = exact_out
        by_name = self.signature.by_name
        self.dim_at, self.dtype_at = by_name.get("dim"), by_name.get("dtype")
        known = {"self", "dim", "keepdim", "dtype"}
        self.rest = tuple([i for i, p in enumerate(self.signature.params) if p.name not in known])

    # ---- running

    def check_memory(self, target: Tensor, values: Sequence[Any]) -> None:
        """Dimensions are looked at before the memory that is to be written to."""
        if self.dim_at is not None and values[self.dim_at - 1].__class__ is int:
            errors.wrap_dim(values[self.dim_at - 1], target._array.ndim)
        super().check_memory(target, values)

    def prepare(self, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
        t: Tensor = values[0]
        d = t.dtype
        asked = None if self.dtype_at is None else values[self.dtype_at]
        ndim = t._array.ndim
        place = self.place(values, ndim)
        error = None if self.refuse is None else self.refuse(asked or d)
        busy = t._array.size and not is_idle(self.name, values)
        if error is not None and (busy or not isinstance(error, NotImplementedError)):
            raise error
        if busy:  # where no kernel runs, none is missing
            refuse_rare(self.name, asked or d, values)
        if asked is not None:
            d = asked
        elif d.category < dt.FLOAT and self.integers != "keep":
            d = dt.int64 if self.integers == "int64" else dt.get_default_dtype()
        compute = d if d in dt.HALVES and backend.takes_halves(self) else dt.WIDE.get(d, d)
        array = t._array if t.dtype is compute else local.state.quiet(backend.cast, t._array, compute.numpy)
        arguments = [array, *place, *[array_of(values[i]) for i in self.rest]]
        if not ndim and arguments[1] is not None:
            arguments[0] = array.reshape(1)
        return arguments, result_dtype(self.result, d)

    def place(self, values: Sequence[Any], ndim: int) -> Sequence[Any]:
        """What tells the kernel where to compute."""
        assert self.dim_at is not None
        return (errors.wrap_dim(values[self.dim_at], ndim),)

    def arranged(self, outputs: Any, values: Sequence[Any]) -> Any:
        """Results of the operand's rank, row by row."""
        if outputs.__class__ is tuple:
            return tuple([self.arranged(o, values) for o in outputs])
        t = values[0]
        backend = t._backend.real
        if outputs.__class__ is not backend.Array:  # a number
            return outputs
        if not t._array.ndim:
            return outputs.reshape(())
        if not outputs.flags.c_contiguous:
            return backend.copy(outputs, "C")
        if 1 in outputs.shape or 0 in outputs.shape:  # along which NumPy's steps may be any
            return backend.ordered(outputs, contiguous_strides(outputs.shape))
        return outputs

    def into(self, out: Any, values: Sequence[Any]) -> Any:
        """The `out=` form: where no dtype is asked for, the result gets that of `out`."""
        if self.dtype_at is None or self.exact_out or not isinstance(out, TensorBase):
            return super().into(out, values)
        if values[self.dtype_at] is None:
            values = [*values]
            values[self.dtype_at] = out.dtype
        return into(out, self.apply, values, self.signature.name, exact=True)

    # ---- recording

    def save(self, node: OpNode, values: Sequence[Any], results: Sequence[Any]) -> None:
        super().save(node, values, results)
        if self.dtype_at is not None and results[0].dtype.category < dt.FLOAT:
            raise RuntimeError(f"Autograd not support dtype: {results[0].dtype.legacy}")

    def operand_forms(self, values: Sequence[Any], results: Sequence[Any], edges: Sequence[Any]) -> tuple[Any, ...]:
        t: Tensor = values[0]
        return t._array.shape, t.dtype, self.lost(values, t._array.ndim)

    def lost(self, values: Sequence[Any], ndim: int) -> tuple[int, ...]:
        """The dimensions that results lack, one after the other."""
        return ()

    def fit(self, node: OpNode, grads: Sequence[Any]) -> Sequence[Any]:
        g = grads[0]
        if g is None:
            return grads
        shape, d, _ = node.operand_forms
        if g._array.shape != shape or (self.linear and not shape and is_watched()):
            g = g.expand(shape)
        return [g if g.dtype is d else fit_gradient(g, shape, d, self.real_parts)]


class Reduction(Along):
    """Several elements become one, along dimensions or over all of them.

    `dim` in the signature is `int`, `int?`, `int[1]?` or the like; an overload over all dimensions has none. The
    kernel is called as `kernel(xp, array, axis, keepdim, *rest)`, where `axis` is None for all dimensions, an int
    where the signature says `int`, and a tuple elsewhere.

    In the derivative, gradients and results keep the reduced dimensions, so that they broadcast against `self`, and
    the gradient it gives is expanded to the shape of `self`: that of a sum is `lambda g: g`.

    `none` is what an empty list of dimensions means: "all" or "none".
    """

    bare: bool = False  # whether the derivative is given gradients and results as they are (`with_reduced`)

    def __init__(self, *args: Any, none: str = "all", **more: Any) -> None:
        super().__init__(*args, **more)
        self.keepdim_at = self.signature.by_name.get("keepdim")
        self.empty_is_all = none == "all"

    def shown_besides(self) -> Sequence[str]:
        return [name for name in ("dim", "keepdim") if name in self.signature.by_name]

    def place(self, values: Sequence[Any], ndim: int) -> Sequence[Any]:
        keepdim = self.keepdim_at is not None and values[self.keepdim_at]
        return self.axis(values, ndim), keepdim

    def axis(self, values: Sequence[Any], ndim: int) -> Any:
        dim = None if self.dim_at is None else values[self.dim_at]
        if dim is None:
            return None
        if dim.__class__ is tuple or dim.__class__ is list:
            return errors.wrap_dims(tuple(dim), ndim) if dim or not self.empty_is_all else None
        return errors.wrap_dim(dim, ndim)

    def lost(self, values: Sequence[Any], ndim: int) -> tuple[int, ...]:
        if self.dim_at is None or not ndim or (self.keepdim_at is not None and values[self.keepdim_at]):
            return ()
        dim = values[self.dim_at]
        if dim.__class__ is int:
            return (dim,)
        if dim is None or not (dim or self.empty_is_all):
            return ()
        return tuple(dim) if len(dim) == 1 else tuple(sorted(errors.wrap_dims(tuple(dim), ndim) or range(ndim)))

    def regard(self, node: OpNode, arguments: list[Any], sources: Sequence[int]) -> list[Any]:
        """Gradients and results with the dimensions that were reduced."""
        lost = node.operand_forms[2]
        if not lost or self.bare:
            return arguments
        made = []
        for value, s in zip(arguments, sources):
            if s == -1 or (0 <= s < len(self._to_save) and self._to_save[s][0]):
                value = _with_ones(value, lost)
            elif s == -2:
                value = [_with_ones(g, lost) for g in value]
            made.append(value)
        return made


def with_reduced(t: Tensor, self: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """A gradient or result with the dimensions of `self` that were reduced, if it has lost some."""
    if dim is None or keepdim or not self.dim():
        return t
    dims = (dim,) if dim.__class__ is int else tuple(dim)
    return _with_ones(t, dims if len(dims) == 1 else sorted(errors.wrap_dims(dims, self.dim()) or range(self.dim())))


def _with_ones(t: Any, dims: Sequence[int]) -> Any:
    """A gradient, if there is one, with dimensions of size one in these places."""
    for d in dims if t is not None else ():
        t = t.unsqueeze(d)
    return t


def all_dims(array: Any, axis: Any) -> tuple[int, ...]:
    """`axis` as a tuple."""
    if axis is None:
        return tuple(range(array.ndim))
    return axis if axis.__class__ is tuple else (axis,)


def reduced_count(array: Array, axis: Any) -> int:
    """How many elements a reduction along `axis` makes one of."""
    count = 1
    for a in all_dims(array, axis):
        count *= array.shape[a]
    return count
