"""Elementwise ops: promotion and broadcasting, and gradients that undo them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Sequence
from typing import Any

from ..machine import BROADCAST, PLAIN, Hooked, Tensor, TensorBase, fast
from ..machine.array_backward import backward_on_arrays
from ..machine.operands import array_of, converted, fitting_array, form_of, result_type, scalar_array, tensors_in
from ..machine.rare import RARE, kernel_names, lacking
from ..machine.write import check_apart, check_castable, check_no_overlap
from ..state import State, is_watched, local
from ..values import Backend, contiguous_strides, dense_strides, dt, errors, get_backend, result_strides
from .declaration import Derivative
from .op import Op
from .op_node import OpNode


def sum_to(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Undo broadcasting: sum `g` down to `shape`."""
    have = g._array.shape
    if have == shape:
        return g
    if not shape:
        return g.sum()
    lead = len(have) - len(shape)
    dims = [*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and have[lead + i] != 1)]
    if dims:
        g = g.sum(dims, True)
    return g.reshape(shape) if lead else g


def fit_gradient(g: Any, shape: tuple[int, ...], d: dt.dtype, real_parts: bool = True) -> Any:
    """A gradient for an operand of this shape and dtype; `real_parts`: a real one gets a complex one's real part."""
    if g is None:
        return None
    if g.dtype.category == dt.COMPLEX and d.category != dt.COMPLEX:
        if not real_parts:
            raise RuntimeError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but "
                "got false.  (Could this error message be improved?  If so, please report an enhancement request to "
                "PyTorch.)"
            )
        g = g.real
    g = sum_to(g, shape)
    return g if g.dtype is d else g.to(d)


def conj(value: Any) -> Any:
    """The conjugate of a tensor or number, for use in derivatives. What is real comes back as it is, an array too.

    It is lazy only in a graph, where PyTorch's is, or if somebody watches: on its way through a formula, it is read
    at once.
    """
    if isinstance(value, Tensor):
        if value.dtype.category != dt.COMPLEX:
            return value
        return value.conj() if local.state.mode.grad or is_watched() else value.conj_physical()
    return value.conjugate() if value.__class__ is complex else value


def _form_for(edge: Any, operand: Any) -> Any:
    """The form of an operand's gradient: what it leads to may have another shape than a view reshaped in place."""
    if edge.__class__ is not tuple or not isinstance(operand, TensorBase):
        return form_of(operand)
    return (edge[0].output_forms[edge[1]][0], operand.dtype, operand._backend.home)


_WIDE_COMPLEX = {dt.complex32: dt.complex64}


def result_dtype(rule: Any, d: dt.dtype) -> Any:
    """The dtype of results in terms of that computed in: "same", "real", "bool", …, a dtype, a function; of several."""
    if rule.__class__ is tuple:
        return tuple([result_dtype(one, d) for one in rule])
    if rule.__class__ is not str:
        return rule if isinstance(rule, dt.dtype) else rule(d)
    return _RESULTS[rule](d)


_RESULTS: dict[str, Callable[[dt.dtype], dt.dtype]] = {
    "same": lambda d: d, "real": dt.dtype.to_real, "complex": dt.dtype.to_complex, "bool": lambda d: dt.bool_,
}  # fmt: skip


class Elementwise(Op):
    """Operands are promoted to one dtype and broadcast together.

    `result` is how the result's dtype follows from the operands', see `result_dtype`; "float" is short for "same" with
    `integers="float"`, by which integers become the default dtype before the kernel. `dtypes` are those the op
    accepts after promotion; `label` is what the error for others calls the kernel. `halves` is "wide" where float16 and
    bfloat16 are computed in float32, "mixed" where the kernel rounds once by itself, and a number is not rounded first,
    "rounded" where it is.
    `operators` says that the derivatives are made of operators (and `conj`) alone, so that they hold on arrays as on
    tensors: backward then skips the tensors where no graph is asked for. `direct` are dtypes that fast paths may take.
    """

    batch = BROADCAST
    promoted: Sequence[int] = ()
    real_parts: bool = True  # whether a real operand gets the real part of a complex gradient, or that is refused
    diagonal: bool = True  # whether each element of the result depends on the operands' elements there alone
    numbers_count: bool = False  # whether a number has a say in the result's strides, as a 0-dim tensor has
    converts: bool = False  # whether PyTorch's kernel writes to `out=` of any dtype by itself
    apart: Sequence[str] = ()  # operands that are not promoted with the others, and stay as they are
    by_form = follows_edges = elementwise = lays = True

    def __init__(
        self, schema: str, kernel: Any = None, vjp: Any = None, *, result: Any = "same", integers: str = "keep",
        dtypes: frozenset[dt.dtype] | None = None, halves: str = "own",
        refuse: Callable[[dt.dtype], Exception | None] | None = None, label: str | None = None, operators: bool = False,
        direct: Container[dt.dtype] = dt.DTYPES, **words: Any,
    ) -> None:  # fmt: skip
        if operators:
            words |= {"on_arrays": backward_on_arrays, "formulas": True}
        super().__init__(schema, kernel, vjp, **words)
        params = self.signature.params
        self.promoted = tuple([i for i in self.operands if params[i].name not in self.apart])
        self.floating = "float" in (result, integers)
        self.result = "same" if result == "float" else result
        self.recorded = self.recorded and result != "bool"
        self.asks = self.asks and result != "bool"
        self.dtypes = dtypes
        self.refuse = refuse
        self.label = label or f"{self.signature.name}_cpu"
        self.halves = halves
        self.wide = _WIDE_COMPLEX if halves == "own" else dt.WIDE
        self.scalars = [i for i, p in enumerate(self.signature.params) if p.type == "Scalar" and not p.sequence]
        # dtype -> result dtype, for operands of one dtype that need no conversion: the fast path's table
        self.direct: dict[dt.dtype, dt.dtype] = {}
        widened = dt.WIDE if halves == "wide" else _WIDE_COMPLEX
        for d in dt.DTYPES:
            converted_first = (self.floating and d.category < dt.FLOAT) or d in widened
            if d in direct and self._accepts(d) and not converted_first and (refuse is None or refuse(d) is None):
                self.direct[d] = result_dtype(self.result, d)

    def _accepts(self, d: dt.dtype) -> bool:
        if d is dt.complex32:
            return self.name not in lacking.get(d, ())
        if self.dtypes is not None:
            return d in self.dtypes
        return d not in RARE  # which are computed in where that is said

    def compute_dtype(self, values: Sequence[Any]) -> dt.dtype:
        common = result_type(*[v for i in self.promoted for v in (values[i],) if v is not None])
        if self.floating and common.category < dt.FLOAT:
            common = dt.get_default_dtype()
        if self.refuse is not None and (error := self.refuse(common)) is not None:
            raise error
        if not self._accepts(common):
            self.check_numbers(values, common)
            errors.broadcast_shapes(*[v._array.shape for i in self.operands for v in tensors_in(values[i])])
            label = kernel_names.get(self.name, self.label) if common in RARE else self.label
            raise errors.not_implemented_for(label, common)
        return common

    def prepare(self, values: Sequence[Any], backend: Backend) -> tuple[list[Any], dt.dtype | None]:
        if self.scalars:
            values = self.fit_scalars(values, self.compute_dtype(values))
        known = self.prepare_alike(values, backend)
        if known is not None:
            return known
        common = self.compute_dtype(values)
        return local.state.quiet(self.convert, values, common, backend), result_dtype(self.result, common)

    def check_numbers(self, values: Sequence[Any], common: dt.dtype) -> None:
        """Refuse numbers that are no operands of any dtype's kernel, before it turns out that there is none."""
        for i in self.operands:
            if values[i].__class__ is int and not -(1 << 63) <= values[i] < 1 << 64:
                raise errors.too_long(values[i])

    def fit_scalars(self, values: Sequence[Any], common: dt.dtype) -> list[Any]:
        """The values, with numbers that the dtype of the computation has room for, or an error."""
        d, host = common if self.halves == "rounded" else self.wide.get(common, common), get_backend()
        fitting = list(values)
        for i in self.scalars:
            value = values[i]
            if value is not None and value.__class__ is not bool:
                array = fitting_array(value, d, host)
                if self.halves == "rounded" and d in dt.HALVES:
                    fitting[i] = float(array)
                elif value.__class__ is complex and not d.is_complex:
                    fitting[i] = value.real
        return fitting

    def prepare_alike(self, values: Sequence[Any], backend: Backend) -> tuple[list[Any], dt.dtype] | None:
        """`prepare` for tensors of one dtype that needs no conversion, and numbers after them that do not change it."""
        common: Any = None
        arguments = [*values]
        if self.apart:
            arguments = [array_of(value) for value in values]
        for i in self.promoted:
            value = values[i]
            kind = value.__class__
            if kind in PLAIN:
                if common is None:
                    common = value.dtype
                if value.dtype is not common or value._backend is not backend:
                    return None
                arguments[i] = value._array
            elif (kind is float and common in fast.PRECISE) or (kind is int and common in fast.WHOLE):
                arguments[i] = scalar_array(value, common, backend)
            elif value is not None:
                return None
        out_dtype = self.direct.get(common)
        return None if out_dtype is None else (arguments, out_dtype)

    def convert(self, values: Sequence[Any], common: dt.dtype, backend: Backend) -> list[Any]:
        """The kernel's arguments: arrays of one dtype for the operands, and the rest as it is."""
        arguments = [array_of(value) for value in values] if self.apart else list(values)
        wide = self.wide.get(common)
        kept = wide is not None and common in dt.HALVES and backend.takes_halves(self)
        for i in self.promoted:
            value = values[i]
            if kept:
                arguments[i] = self.kept(value, common, backend)
            elif wide is not None and self.halves == "mixed":
                arguments[i] = converted(value, wide, backend)
            else:
                array = arguments[i] = converted(value, common, backend)
                if wide is not None and array is not None:
                    arguments[i] = backend.cast(array, wide.numpy)
        return arguments

    def kept(self, value: Any, common: dt.dtype, backend: Backend) -> Any:
        """An operand for a kernel that takes halves as they are: numbers are Python's."""
        rounded = self.halves != "mixed"
        if value.__class__ in (float, int, bool):
            return float(scalar_array(value, common, get_backend())) if rounded else float(value)
        is_number = isinstance(value, TensorBase) and not value._array.ndim
        return converted(value, common if rounded or not is_number else dt.WIDE[common], backend)

    def run(self, state: State, kernel: Callable[..., Any], arguments: Sequence[Any], values: Sequence[Any]) -> Any:
        try:
            return self.arranged(state.quiet(kernel, *arguments), values)
        except ValueError:
            shapes = [v._array.shape for i in self.operands for v in tensors_in(values[i])]
            errors.rather(errors.broadcast_shapes, *shapes)
            raise

    def arranged(self, outputs: Any, values: Sequence[Any]) -> Any:
        """The results with the strides that follow from those of the operands.

        NumPy orders dimensions as PyTorch does, but not those of size one and those that operands are expanded along.
        """
        if outputs.__class__ is tuple:
            return tuple([self.arranged(o, values) for o in outputs])
        for i in self.operands:
            value = values[i]
            if isinstance(value, TensorBase):
                array = value._array
                shape = array.shape
                if not array.flags.c_contiguous or (array.base is not None and (1 in shape or 0 in shape)):
                    break
        else:  # all operands lie in order: NumPy has laid the result out already
            return outputs
        operands = [i for i in self.operands if values[i] is not None]
        places = [i for i in operands if isinstance(values[i], TensorBase)]
        tensors = [values[i] for i in places]
        backend = tensors[0]._backend
        if outputs.__class__ is not backend.Array or len(outputs.shape) < 2 or not backend.strided:
            return outputs
        forms = [(t._array.shape, backend.strides(t._array)) for t in tensors]
        common = tensors[-1].dtype
        numbers = len(tensors) < len(operands)
        changed = (numbers or self.floating) and outputs.dtype != common.numpy
        if changed or any([t.dtype is not common for t in tensors]):
            common = self.compute_dtype(values)
            for at, t in enumerate(tensors):
                if t.dtype is not common and places[at] in self.promoted:  # converted first, to a copy in its order
                    forms[at] = forms[at][0], dense_strides(*forms[at])
        if self.numbers_count and numbers:
            forms.append(((), ()))
        return backend.ordered(outputs, result_strides(outputs.shape, tuple(forms)))

    def into(self, out: Any, values: Sequence[Any]) -> Any:
        if not isinstance(out, Tensor):
            return super().into(out, values)
        read = [t for i in self.operands for t in tensors_in(values[i])]
        if not out._backend.lazy:  # of which a copy is resized before it is written back
            check_no_overlap(out._array)
        for other in read:
            check_apart(out, other)
        if any([other is out for other in read]) and not out._backend.lazy:
            shape = errors.broadcast_shapes(*[t._array.shape for t in read])
            if out._array.shape != shape:
                self.apply(*values)  # which may be refused
                raise RuntimeError(
                    f"output with shape {list(out._array.shape)} doesn't match the broadcast shape {list(shape)}"
                )
        try:
            made = super().into(out, values)
        except NotImplementedError:
            self.rather_castable(values, out.dtype)
            raise
        cast = self.result == "bool" and not self.converts and out.dtype is not dt.bool_ and not out.dtype.is_complex
        if cast and result_type(*read).is_complex:  # the dtype in which PyTorch has zeros and ones
            errors.tell_of_lost_part()
        return made

    def overwrite(self, self_: Tensor, before: Tensor, values: list[Any]) -> None:
        try:
            super().overwrite(self_, before, values)
        except NotImplementedError:
            shapes = [t._array.shape for i in self.operands for t in tensors_in(values[i])]
            errors.rather(errors.within, self_._array.shape, errors.broadcast_shapes(*shapes))
            self.rather_castable(values, self_.dtype)
            raise

    def rather_castable(self, values: Sequence[Any], d: dt.dtype) -> None:
        """PyTorch looks for a kernel when it knows that its result may be written to this dtype."""
        common = result_type(*[v for i in self.promoted for v in (values[i],) if v is not None])
        errors.rather(check_castable, result_dtype(self.result, common), d)

    def written_at_once(self, values: Sequence[Any]) -> Container[dt.dtype]:
        promoted = [values[i] for i in self.promoted if values[i] is not None]
        return dt.DTYPES if self.converts else (result_type(*promoted),)

    def save(self, node: OpNode, values: Sequence[Any], results: Sequence[Any]) -> None:
        super().save(node, values, results)
        if all([edge is None for edge in node.next_edges]):
            # Then backward only sees to what was saved, which fast ways do not.
            node.saved_entries = Hooked(node.saved_entries)

    def operand_forms(self, values: Sequence[Any], results: Sequence[Any], edges: Sequence[Any]) -> Any:
        form: Any = form_of(results[0])
        shape, d, _ = form
        for i, _ in self.rules:
            value = values[i]
            if isinstance(value, TensorBase) and (value.dtype is not d or value._array.shape != shape):
                return tuple([_form_for(edge, values[i]) for (i, _), edge in zip(self.rules, edges, strict=True)])
        return None

    def fit(self, node: OpNode, grads: Sequence[Any]) -> Sequence[Any]:
        forms = node.operand_forms
        if forms is None:
            return grads
        real_parts = self.real_parts or None in forms  # beside a number, PyTorch converts the tensor first
        return [
            g if g is None or form is None else fit_gradient(g, form[0], form[1], real_parts)
            for g, form in zip(grads, forms, strict=True)
        ]


def contiguous(op: Op, outputs: Any, values: Sequence[Any]) -> Any:
    """`arranged` for results that are contiguous, however the operands lie."""
    backend = next(t for i in op.operands for t in tensors_in(values[i]))._backend.real
    if outputs.__class__ is not backend.Array:
        return outputs
    return backend.ordered(outputs, contiguous_strides(outputs.shape))


def as_operand(at: int) -> Callable[[Op, Any, Sequence[Any]], Any]:
    """`arranged` for results that lie as an operand does, where they have its shape."""

    def arranged(op: Op, outputs: Any, values: Sequence[Any]) -> Any:
        operand = values[at]
        if outputs.shape != operand._array.shape:
            return outputs
        return operand._backend.real.ordered(outputs, dense_strides(operand._array.shape, operand.stride()))

    return arranged


class Unary(Elementwise):
    """One tensor in, one of the same shape out."""

    fast = staticmethod(fast.unary)

    def __init__(self, name: str, kernel: Any = None, vjp: Derivative | None = None, **more: Any) -> None:
        super().__init__(f"{name}(Tensor self)", kernel, None if vjp is None else {"self": vjp}, **more)


class Binary(Elementwise):
    """Two operands, tensors or numbers."""

    numbers_count = True
    fast, fast_in_place = staticmethod(fast.binary), staticmethod(fast.binary_in_place)

    def __init__(
        self, name: str, kernel: Any = None,
        vjp: tuple[Callable[..., Any] | None, ...] | dict[str, Any] | Callable[..., Any] | None = None, *,
        schema: str = "Operand self, Operand other", **more: Any,
    ) -> None:  # fmt: skip
        rules = {"self": vjp[0], "other": vjp[1]} if isinstance(vjp, tuple) else vjp
        super().__init__(f"{name}({schema})", kernel, rules, **more)


_VECTOR = 32


def _by_vectors(operands: Sequence[Any]) -> bool:
    """Whether PyTorch's loops take operands, halves, many at a time: those that go one by one round products, too."""
    long = [each for each in operands if each.size != 1]
    alike = {(each.shape, each.strides) for each in long}
    return len(alike) == 1 and long[0].size >= _VECTOR


class Scaled(Binary):
    """A binary op one of whose operands, by default the second, may be multiplied by `alpha` first: add and sub."""

    by_form = True
    scaled: int = 1

    def __init__(self, name: str, kernel: Any, vjp: Any, *, first: str = "Operand", **more: Any) -> None:
        schema = f"{first} self, Operand other, *, Scalar alpha=1"
        super().__init__(name, kernel, vjp, schema=schema, halves="rounded", **more)

    @functools.cached_property
    def flat(self) -> Callable[..., Any]:
        call = self.quick
        return lambda input, other, alpha: call(input, other, alpha=alpha)

    def as_step(self, values: Sequence[Any]) -> tuple[Callable[..., Any], Sequence[Any]]:
        return (self.quick, values[:2]) if values[2].__class__ is int and values[2] == 1 else super().as_step(values)

    def check_numbers(self, values: Sequence[Any], common: dt.dtype) -> None:
        alpha = values[2]
        refused = None
        if isinstance(alpha, bool) and common is not dt.bool_:
            refused = "Boolean alpha only supported for Boolean results."
        elif isinstance(alpha, (float, complex)) and common.category < dt.FLOAT:
            refused = "For integral input tensors, argument alpha must not be a floating point number."
        elif isinstance(alpha, complex) and not common.is_complex:
            refused = "For non-complex input tensors, argument alpha must not be a complex number."
        if refused is not None:
            errors.broadcast_shapes(*[v._array.shape for v in values[:2] if isinstance(v, TensorBase)])
            raise RuntimeError(refused)
        super().check_numbers(values, common)

    def fit_scalars(self, values: Sequence[Any], common: dt.dtype) -> list[Any]:
        self.check_numbers(values, common)
        return super().fit_scalars(values, common)

    def prepare(self, values: Sequence[Any], backend: Backend) -> tuple[list[Any], dt.dtype | None]:
        (*operands, _), out_dtype = super().prepare(values, backend)
        alpha = values[2]
        if alpha.__class__ is not int or alpha != 1:
            number = fitting_array(alpha, out_dtype or dt.of_numpy(operands[0].dtype), backend)
            if out_dtype in dt.HALVES and not backend.takes_halves(self) and _by_vectors(operands):
                wide = dt.WIDE[out_dtype].numpy  # rounded once, after both
                number, *operands = [backend.cast(each, wide) for each in (number, *operands)]
            operands[self.scaled] = backend.xp.multiply(operands[self.scaled], number)
        return operands, out_dtype
