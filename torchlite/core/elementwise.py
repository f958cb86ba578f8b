"""Elementwise ops: promotion, broadcasting, and the fast paths for one and two operands.

The fast paths are written flat on purpose: they are what a small model's step consists of. Everything rare leaves
through `Op.call`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import dtype as dt
from . import errors
from .mode import local
from .node import Counter, OpNode, sequence
from .op import Op
from .operands import SavedNumber, converted, result_type, scalar_array, tensors_in
from .overrides import dispatch, needs_dispatch
from .tensor import Tensor, TensorBase, wrap
from .view import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_new = object.__new__

def sum_to(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Undo broadcasting: sum `g` down to `shape`."""
    have = g.array.shape
    if have == shape:
        return g
    lead = len(have) - len(shape)
    dims = [*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and have[lead + i] != 1)]
    if dims:
        g = g.sum(dims, True)
    return g.reshape(shape) if lead else g


def fit_gradient(g: Any, shape: tuple[int, ...], d: dt.dtype) -> Any:
    """A gradient for an operand of this shape and dtype."""
    if g is None:
        return None
    if g.dtype is not d:
        if g.dtype.category == dt.COMPLEX and d.category != dt.COMPLEX:
            g = g.real
        g = g.to(d)
    return sum_to(g, shape)


class Elementwise(Op):
    """Operands are promoted to one dtype and broadcast together.

    `result` is how the result's dtype follows from the operands': "same", "float" (integers become the default
    dtype, before the kernel), "bool", or "real" (a complex operand gives its real type). `dtypes` are those the op
    accepts after promotion.
    """

    def __init__(
        self,
        schema: str,
        kernel: Any = None,
        vjp: Any = None,
        *,
        result: str = "same",
        dtypes: frozenset[dt.dtype] | None = None,
        halves: str = "own",
        refuse: Callable[[dt.dtype], Exception | None] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(schema, kernel, vjp, **more)
        self.result = result
        self.dtypes = dtypes
        self.refuse = refuse
        self.wide_halves = halves == "wide"  # compute float16 and bfloat16 in float32
        # dtype -> result dtype, for operands of one dtype that need no conversion: the fast path's table
        self.direct: dict[dt.dtype, dt.dtype] = {}
        for d in dt.DTYPES:
            if self._accepts(d) and not (result == "float" and d.category < dt.FLOAT) and not (self.wide_halves and d in dt.HALVES):
                self.direct[d] = self._result(d)

    def _accepts(self, d: dt.dtype) -> bool:
        if self.dtypes is not None and d not in self.dtypes:
            return False
        return d.itemsize > 1 or d.category < dt.FLOAT  # nothing is computed in float8

    def _result(self, d: dt.dtype) -> dt.dtype:
        if self.result == "bool":
            return dt.bool_
        return d.to_real() if self.result == "real" else d

    def compute_dtype(self, values: Sequence[Any]) -> dt.dtype:
        common = result_type(*[v for i in self.operands for v in (values[i],) if v is not None])
        if self.result == "float" and common.category < dt.FLOAT:
            common = dt.get_default_dtype()
        if self.refuse is not None and (error := self.refuse(common)) is not None:
            raise error
        if not self._accepts(common):
            raise errors.not_implemented_for(f"{self.signature.name}_cpu", common)
        return common

    def prepare(self, values: Sequence[Any], backend: Any) -> tuple[list[Any], dt.dtype | None]:
        common = self.compute_dtype(values)
        compute = dt.float32 if self.wide_halves and common in dt.HALVES else common
        arguments = list(values)
        for i in self.operands:
            arguments[i] = converted(values[i], compute, backend)
        return arguments, self._result(common)

    def run(self, state: Any, kernel: Callable[..., Any], arguments: Sequence[Any], values: Sequence[Any]) -> Any:
        try:
            return state.quiet(kernel, *arguments)
        except ValueError:
            errors.broadcast_shapes(*[v.array.shape for i in self.operands for v in tensors_in(values[i])])
            raise

    def wrap_results(self, outputs: Any, out_dtype: dt.dtype | None, backend: Any) -> Any:
        if outputs.__class__ is tuple:
            return tuple([self.wrap_results(o, out_dtype, backend) for o in outputs])
        assert out_dtype is not None
        if outputs.__class__ is not backend.Array:
            outputs = backend.asarray(outputs)
        if outputs.dtype != out_dtype.numpy:
            outputs = backend.cast(outputs, out_dtype.numpy)
        return wrap(outputs, out_dtype, backend)

    def save(self, node: OpNode, values: Sequence[Any], results: Sequence[Any]) -> None:
        super().save(node, values, results)
        node.inputs = tuple([_form(values[i]) for i, _ in self.rules])

    def backward(self, node: OpNode, grads: list[Any]) -> Sequence[Any]:
        found = super().backward(node, grads)
        forms = node.inputs
        if forms is None:
            return found
        return [
            g if g is None or form is None else fit_gradient(g, *form) for g, form in zip(found, forms, strict=True)
        ]


def _form(value: Any) -> tuple[tuple[int, ...], dt.dtype] | None:
    return (value.array.shape, value.dtype) if isinstance(value, TensorBase) else None


class Unary(Elementwise):
    """One tensor in, one of the same shape out."""

    def __init__(self, name: str, kernel: Any = None, vjp: Callable[..., Any] | None = None, **more: Any) -> None:
        super().__init__(f"{name}(Tensor self)", kernel, None if vjp is None else {"self": vjp}, **more)

    def function(self) -> Callable[..., Any]:
        op, kernels, direct, array_of = self, self.kernels, self.direct, _new
        differentiable = bool(self.rules)

        def call(input: Tensor, *, out: Tensor | None = None) -> Any:
            state = local.state
            mode = state.mode
            if mode.plain and out is None:
                try:
                    backend = input.backend
                    kernel = kernels[backend]
                    dtype = direct[input.dtype]
                except (AttributeError, KeyError):
                    return op.call(call, (input,), {}, False)
                array = state.quiet(kernel, input.array)
                if array.__class__ is not backend.Array:
                    array = backend.asarray(array)
                result = array_of(Tensor)
                result.array = array
                result.dtype = dtype
                result.backend = backend
                result.edge = result.counter = result._grad = result.extra = None
                if differentiable and input.edge is not None and mode.grad:
                    op.record((input,), (result,))
                return result
            return op.call(call, (input,), {} if out is None else {"out": out}, False)

        return self.named(call)


class Binary(Elementwise):
    """Two operands, tensors or numbers."""

    def __init__(
        self,
        name: str,
        kernel: Any = None,
        vjp: tuple[Callable[..., Any] | None, Callable[..., Any] | None] | None = None,
        *,
        schema: str = "Operand self, Operand other",
        **more: Any,
    ) -> None:
        rules = None if vjp is None else {"self": vjp[0], "other": vjp[1]}
        super().__init__(f"{name}({schema})", kernel, rules, **more)
        # A fast record needs both operands to have a derivative, and nothing but them and the result to be kept.
        self.simple = (
            len(self.rules) == 2 and set(self.saved_names) <= {"self", "other"} and set(self.value_names) <= {"alpha"}
        )

    def function(self) -> Callable[..., Any]:
        op, kernels, direct, new = self, self.kernels, self.direct, _new
        record = self.record_pair if self.simple else self.record_any if self.rules else None

        def call(input: Tensor, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Any:
            state = local.state
            mode = state.mode
            if mode.plain and out is None and alpha is _ONE:
                try:
                    backend = input.backend
                    dtype = input.dtype
                    if other.__class__ is float and dtype in _PRECISE:
                        operand = other
                        edge = None
                    elif other.backend is backend and other.dtype is dtype:
                        operand = other.array
                        edge = other.edge
                    else:
                        return op.call(call, (input, other), {}, False)
                    kernel = kernels[backend]
                    dtype = direct[dtype]
                    array = state.quiet(kernel, input.array, operand)
                except (AttributeError, KeyError, ValueError):
                    return op.call(call, (input, other), {}, False)
                if array.__class__ is not backend.Array:
                    array = backend.asarray(array)
                result = new(Tensor)
                result.array = array
                result.dtype = dtype
                result.backend = backend
                result.edge = result.counter = result._grad = result.extra = None
                if (edge is not None or input.edge is not None) and record is not None and mode.grad:
                    record(input, other, result)
                return result
            named = {} if out is None else {"out": out}
            if alpha is not _ONE:  # only add and sub have it; binding says so
                named["alpha"] = alpha
            return op.call(call, (input, other), named, False)

        return self.named(call)

    def inplace(self) -> Callable[..., Any]:
        op, kernels, direct = self, self.kernels, self.direct
        into_place = isinstance(self.kernel, str) and self.result == "same"

        def call(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
            state = local.state
            mode = state.mode
            if mode.plain and into_place and alpha is _ONE:
                try:
                    backend = self.backend
                    dtype = self.dtype
                    array = self.array
                    if other.__class__ is float and dtype in _PRECISE:
                        operand = other
                        edge = None
                    elif other.backend is backend and other.dtype is dtype:
                        operand = other.array
                        edge = other.edge
                    else:
                        return op.in_place(call, self, other, alpha)
                    if dtype in direct and 0 not in array.strides:
                        if not mode.grad or (self.edge is None and edge is None):
                            state.quiet(kernels[backend], array, operand, array)
                            counter = self.counter
                            if counter is None:
                                counter = self.counter = Counter()
                            counter.n += 1
                            return self
                except (AttributeError, KeyError, ValueError):
                    pass
            return op.in_place(call, self, other, alpha)

        return self.named(call, "_")

    def in_place(self, function: Callable[..., Any], self_: Tensor, other: Any, alpha: Any) -> Tensor:
        """The in-place form on its slow path."""
        named = {} if alpha is _ONE else {"alpha": alpha}
        if needs_dispatch((self_, other), {}):
            return dispatch(function, (self_, other), named)
        return self.apply_in_place(self.bind((self_, other), named, True))

    def record_any(self, a: Tensor, b: Any, result: Tensor) -> None:
        self.record((a, b, 1), (result,))

    def record_pair(self, a: Tensor, b: Any, result: Tensor) -> None:
        """`record`, written flat for the commonest case."""
        first = a.edge
        if first is not None and first.__class__ is not tuple:
            first = resolve(a)
        number = b.__class__ is float
        second = None if number else b.edge
        if second is not None and second.__class__ is not tuple:
            second = resolve(b)
        if first is None and second is None:
            return
        node = _new(self.node_class)
        node.edges = (first, second)
        node.seq = next(sequence)
        node.hooks = node.metadata_ = None
        node.values = (1,) * len(self.value_names)
        dtype = result.dtype
        shape = result.array.shape
        node.outputs = ((shape, dtype, result.backend),)
        result.edge = (node, 0)
        one = a.array.shape
        other = shape if number else b.array.shape
        node.inputs = None if one == shape == other else ((one, dtype), (other, dtype))
        saved = []
        for name in self.saved_names:
            if name == "self":  # only the other operand's derivative names it
                if second is None:
                    saved.append(None)
                else:
                    counter = a.counter
                    saved.append((a, 0 if counter is None else counter.n))
            elif first is None:
                saved.append(None)
            elif number:
                saved.append(SavedNumber(b))
            else:
                counter = b.counter
                saved.append((b, 0 if counter is None else counter.n))
        node.saved = tuple(saved)


class Scaled(Binary):
    """A binary op whose second operand may be multiplied by `alpha` first: add and sub."""

    def __init__(self, name: str, kernel: str, vjp: Any, **more: Any) -> None:
        super().__init__(name, kernel, vjp, schema="Operand self, Operand other, *, Scalar alpha=1", **more)

    def prepare(self, values: Sequence[Any], backend: Any) -> tuple[list[Any], dt.dtype | None]:
        (first, second, _), out_dtype = super().prepare(values, backend)
        alpha = values[2]
        if alpha.__class__ is not int or alpha != 1:
            assert out_dtype is not None
            if isinstance(alpha, bool) and out_dtype is not dt.bool_:
                raise RuntimeError("Boolean alpha only supported for Boolean results.")
            if isinstance(alpha, float) and out_dtype.category < dt.FLOAT:
                raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
            if isinstance(alpha, complex) and not out_dtype.is_complex:
                raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
            second = backend.xp.multiply(second, scalar_array(alpha, out_dtype, backend))
        return [first, second], out_dtype


_ONE = 1  # the default of alpha; small ints are one object

_PRECISE = frozenset((dt.float32, dt.float64))
