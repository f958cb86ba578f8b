"""Choosing between values: `where`, relu, clamp, maximum and minimum."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import (
    ITSELF,
    Binary,
    Composite,
    Elementwise,
    Op,
    Unary,
    describe,
    publish,
    publish_python,
    refusal,
)
from ...core.machine import Tensor, TensorBase, functions
from ...core.machine.batching import LEADING, dynamic_shape, refuse_batch
from ...core.machine.formulas import Symbol
from ...core.machine.operands import converted, fitting_array, requires_grad, result_type
from ...core.machine.out_dtypes import check_found, check_out_dtype
from ...core.values import (
    Array,
    Backend,
    Namespace,
    broadcast_shapes,
    cannot_cast,
    dt,
    not_implemented_for,
    strided,
    warn_once,
)
from ..formulas import nought
from ..gradient_kernels import by_kernel_of
from ..making.copy import arranged_as_copy
from ..vocabulary import ALL, COMMON, ORDERED, REAL, TENSORS, no_complex, zero_gradient

# ---- where


def _with_choices(op: Elementwise, values: Sequence[Any], backend: Backend) -> tuple[list[Any], dt.dtype]:
    condition, one, other = values
    common = op.compute_dtype(values)
    return [condition._array, *[_choice(v, common, backend) for v in (one, other)]], common


def _choice(value: Any, d: dt.dtype, backend: Backend) -> Any:
    """An array of a choice: numbers must fit, but in halves they may be infinite."""
    checked = not isinstance(value, TensorBase) and d not in dt.HALVES
    return (fitting_array if checked else converted)(value, d, backend)


def _check_condition(condition: Tensor, *choices: Any) -> None:
    if condition.dtype is dt.uint8:
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead.",
        )
    elif condition.dtype is not dt.bool_ and condition._backend.layout is strided:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.legacy}"
        )


def _check_chosen(out: Any, values: Sequence[Any]) -> None:
    """The dtype of `out` is looked at before all else."""
    if isinstance(out, TensorBase):
        check_out_dtype("where", choose.compute_dtype(values), out.dtype, exact=True)
        _check_condition(*values)


choose: Elementwise = Elementwise(
    "where(Tensor condition, Operand self, Operand other)",
    "where",
    {
        "condition": None,
        "self": lambda g, condition: where(condition, g, 0),
        "other": lambda g, condition: where(condition, 0, g),
    },
    check_form=_check_condition, check_out=_check_chosen, apart=("condition",), prepare=_with_choices, by_form=True,
    numbers_count=True, real_parts=False, dtypes=ALL,
)  # fmt: skip


def _where_true(condition: Tensor) -> Any:
    refuse_batch((condition,), dynamic_shape("where"))
    return functions["nonzero"](condition, as_tuple=True)


where_true = Composite("where.condition(Tensor condition) -> Tensor[]", _where_true)
where: Callable[..., Tensor] = publish(choose, where_true, method=False)
publish_python(
    "where(Tensor self, Tensor condition, Operand other)",
    lambda self, condition, other: choose.apply(condition, self, other),
    function=False,
)


# ---- relu


def _kept_bits(g: Any, x: Any, threshold: Any) -> Any:
    """`where(x <= threshold, 0, g)` on arrays, by masking bits: neither slow nor wrong where `g` is not finite."""
    bits = f"i{g.itemsize}"
    mask = (x <= threshold).astype(bits)
    mask -= 1
    mask &= g.view(bits)
    return mask.view(g.dtype)


threshold_backward = Op(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold)",
    lambda xp, grad_output, self, threshold: _kept_bits(grad_output, self, threshold),
    {"grad_output": ITSELF, "self": zero_gradient},
    batch=LEADING,
)
publish(threshold_backward, function=False, method=False)


def _relu_refuses(d: dt.dtype) -> Exception | None:
    if d is dt.bool_:
        return RuntimeError("Boolean inputs not supported for relu")
    return NotImplementedError("clamp is not supported for complex types") if d.is_complex else None


def _check_relu_in_place(target: Tensor) -> None:
    """The dtype is looked at before the memory."""
    if (error := _relu_refuses(target.dtype)) is not None:
        raise error


relu = Unary(
    "relu",
    lambda xp, x: xp.maximum(x.dtype.type(0), x),
    lambda g, result: g.keep_above(result, 0) if g.__class__ is Symbol else threshold_backward.apply(g, result, 0),
    dtypes=REAL, refuse=_relu_refuses,
    on_arrays=by_kernel_of(threshold_backward, renamed={"self": "result"}, threshold=0), formulas=True,
    check_in_place=_check_relu_in_place,
)  # fmt: skip
publish(relu, inplace=True)


def _check_value(self: Tensor, threshold: Any, value: Any) -> None:
    fitting_array(value, self.dtype, self._backend.real)  # halves are only compared as floats


threshold = Elementwise(
    "threshold(Tensor self, Scalar threshold, Scalar value)",
    lambda xp, x, threshold, value: xp.where(x <= threshold, xp.asarray(value).astype(x.dtype), x),
    {"self": threshold_backward},
    dtypes=REAL - {dt.bool_}, halves="wide", check_form=_check_value,
)  # fmt: skip
publish(threshold, method=False)
functions["threshold_"] = threshold.inplace(False)


# ---- bounds

_REAL_NUMBERS = frozenset((int, float))
_NO_COMPLEX = "clamp is not supported for complex types"


def _clamp(xp: Namespace, x: Array, low: Any, high: Any) -> Any:
    if low is not None:
        x = xp.maximum(low, x)  # of zeros, which are equal whatever their signs, the latter is taken
    return x if high is None else xp.minimum(high, x)


def _is_number(bound: Any) -> bool:
    """Whether a bound may stand beside a number."""
    return not isinstance(bound, Tensor) or not (bound._array.shape or requires_grad(bound))


def _check_bounds(self: Tensor, min: Any, max: Any) -> None:
    if min.__class__ in _REAL_NUMBERS and max.__class__ in _REAL_NUMBERS:
        return
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    bounds = [bound for bound in (min, max) if bound is not None]
    if len({isinstance(bound, Tensor) for bound in bounds}) == 2 and not all(map(_is_number, bounds)):
        raise refusal("clamp", [], (self, min, max), {}, False)
    if self.is_floating_point() and any([isinstance(bound, complex) and bound.imag for bound in (min, max)]):
        raise RuntimeError("value cannot be converted to type double without overflow")


def _inside(self: Tensor, min: Any, max: Any) -> Tensor:
    if min is None:
        return self <= max
    if max is None:
        return self >= min
    both = isinstance(min, Tensor) and isinstance(max, Tensor)
    return (self >= min).logical_and(self <= max) if both else (self >= min).logical_and_(self <= max)


def _below(self: Tensor, min: Any, max: Any) -> Tensor:
    return self < min if max is None else (min < max).logical_and(self < min)


def _above(self: Tensor, min: Any, max: Any) -> Tensor:
    return self > max if min is None else (self > max).logical_or(max < min)


def _where_it_is(g: Tensor, found: Callable[..., Tensor], *values: Any) -> Tensor:
    """The gradient where a condition, which is computed last, is true of operands and bounds, and zero elsewhere."""
    zero = nought(g)
    return where(found(*values), g, zero)


def _clamp_vjp(g: Tensor, self: Tensor, min: Any, max: Any, needs: Sequence[bool]) -> list[Tensor | None]:
    """The gradients of an operand and of its bounds, which share one zero."""
    zero: Any = nought(g) if any(needs[1:]) else None
    to_bounds = [
        where(found(self, min, max), g, zero) if needed else None for needed, found in zip(needs[1:], (_below, _above))
    ]
    return [_where_it_is(g, _inside, self, min, max) if needs[0] else None, *to_bounds]


def _check_complex(op: Elementwise, values: Sequence[Any]) -> None:
    """Beside tensors, bounds are those of `maximum` and `minimum`, which have words of their own."""
    if op is clamp and values[0].is_complex():
        raise NotImplementedError(_NO_COMPLEX)
    raise not_implemented_for(_kernel(op, values), _common(values))


def _kernel(op: Elementwise, values: Sequence[Any]) -> str:
    """What errors call the kernel: beside tensors, that of another op."""
    low, high = (None, values[1]) if op is clamp_max else (*values[1:], None)[:2]
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        return f"{'minimum' if low is None else 'maximum' if high is None else 'clamp'}_cpu"
    return f"clamp{'_max' if low is None else '_min' if high is None else ''}_scalar_cpu"


def _common(values: Sequence[Any]) -> dt.dtype:
    """The dtype of tensors that fit each other."""
    tensors = [t for t in values if isinstance(t, Tensor)]
    broadcast_shapes(*[t._array.shape for t in tensors])
    return result_type(*tensors)


def _check_written(target: Tensor, values: Sequence[Any]) -> None:
    """Complex bounds do not fit into a real target."""
    if any([isinstance(value, Tensor) and value.is_complex() for value in values]) and not target.is_complex():
        raise cannot_cast(_common(values), target.dtype)


def _with_bounds(op: Elementwise, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
    """Bounds that are numbers fit the dtype, or are refused."""
    bounds = [bound for bound in values[1:] if bound is not None]
    numbers = [bound for bound in bounds if not isinstance(bound, Tensor)]
    if not numbers and any([t.is_complex() for t in (values[0], *bounds)]):
        _check_complex(op, values)
    d = result_type(*[v for v in values if v is not None])
    if d in dt.UNSIGNED or (d is dt.bool_ and (numbers or len(bounds) == 2)):
        op.check_numbers(values, d)
        raise not_implemented_for(_kernel(op, values), d)
    if numbers or len(bounds) == 2:
        d = op.compute_dtype(values)
        for number in numbers:
            fitting_array(number, d, backend)
    return Elementwise.prepare(op, values, backend)


def _fits_in_place(target: Tensor, *bounds: Any) -> None:
    """What cannot be is said before memory is looked at; of numbers in other words than elsewhere."""
    if target.dtype.is_complex and (len(bounds) == 2 or not isinstance(bounds[0], Tensor)):
        raise NotImplementedError(_NO_COMPLEX)
    _check_written(target, (target, *bounds))
    if target.dtype.category < dt.FLOAT and not any([isinstance(bound, Tensor) for bound in bounds]):
        d = result_type(target, *[v for v in bounds if v is not None])
        if not dt.can_cast(d, target.dtype):
            raise RuntimeError(f"result type {d.legacy} can't be cast to the desired output type {target.dtype.cname}")


def _keeps_dtype(out: Any, values: Sequence[Any]) -> None:
    """Beside numbers, PyTorch wants the dtype that is computed in."""
    if not isinstance(out, TensorBase):
        return
    if len(values) == 3 and values[0].is_complex():
        raise NotImplementedError(_NO_COMPLEX)
    _check_written(out, values)
    if not any([isinstance(bound, TensorBase) for bound in values[1:]]):
        check_found(result_type(*[v for v in values if v is not None]), out.dtype)


_BOUNDED: dict[str, Any] = {
    "prepare": _with_bounds, "by_form": True, "check_in_place": _fits_in_place, "check_out": _keeps_dtype,
}  # fmt: skip
clamp = Elementwise(
    "clamp(Tensor self, Operand? min=None, Operand? max=None)",
    _clamp,
    _clamp_vjp,
    check=_check_bounds, dtypes=ORDERED, number_nodes={"min": "ClampBackward1", "max": "ClampBackward1"},
    refuse=no_complex(NotImplementedError, _NO_COMPLEX), **_BOUNDED,
)  # fmt: skip
publish(clamp, names=("clamp", "clip"), inplace=True)


def _bound(name: str, kernel: Any, rules: dict[str, Any], label: str) -> Elementwise:
    """One bound of `clamp`."""
    node = f"Clamp{name.capitalize()}Backward"
    op = Elementwise(
        f"clamp_{name}(Tensor self, Operand {name})", kernel, rules, dtypes=ORDERED, label=label,
        refuse=no_complex(NotImplementedError, _NO_COMPLEX), **_BOUNDED, node=f"{node}1",
        number_nodes={name: f"{node}0"},
    )  # fmt: skip
    publish(op, inplace=True)
    return op


clamp_min = _bound("min", lambda xp, x, low: _clamp(xp, x, low, None), {
    "self": lambda g, self, min: _where_it_is(g, operator.ge, self, min),
    "min": lambda g, self, min: _where_it_is(g, operator.lt, self, min),
}, "maximum_cpu")  # fmt: skip
clamp_max = _bound("max", lambda xp, x, high: _clamp(xp, x, None, high), {
    "self": lambda g, self, max: _where_it_is(g, operator.le, self, max),
    "max": lambda g, self, max: _where_it_is(g, operator.gt, self, max),
}, "minimum_cpu")  # fmt: skip


# ---- the larger and the smaller of two


def _no_complex(name: str) -> dict[str, Any]:
    """Words of ops that refuse complex numbers, before they look at the memory of `out=`."""
    refuse = no_complex(RuntimeError, f"{name} not implemented for complex tensors.")

    def check_out(out: Any, values: Sequence[Any]) -> None:
        if (error := refuse(result_type(*values))) is not None:
            raise error

    return {"refuse": refuse, "check_out": check_out}


def _winner(name: str, kernel: str, self_wins: Callable[[Any, Any], Any], label: str) -> Binary:
    """An op that picks one of its operands, which gets the gradient."""
    return Binary(
        name,
        kernel,
        (
            lambda g, self, other: g.masked_fill(self_wins(self, other).logical_not_(), 0),
            lambda g, self, other: g.masked_fill(self_wins(self, other), 0),
        ),
        schema=TENSORS, dtypes=ORDERED, label=label, **_no_complex(name),
    )  # fmt: skip


def _extreme(name: str, loses: Callable[[Any, Any], Any], wins: Callable[[Any, Any], Any]) -> Binary:
    """As `_winner`, but equal operands share the gradient and both get that of nan."""

    def share(g: Tensor, self: Tensor, other: Tensor, lost: Callable[[Any, Any], Any]) -> Tensor:
        half = g / 2
        return where(self == other, half, g).masked_fill_(lost(self, other), 0)

    return Binary(
        name,
        name,
        (lambda g, self, other: share(g, self, other, loses), lambda g, self, other: share(g, self, other, wins)),
        schema=TENSORS, dtypes=ORDERED, **_no_complex(name),
    )  # fmt: skip


maximum = _extreme("maximum", operator.lt, operator.gt)
minimum = _extreme("minimum", operator.gt, operator.lt)
fmax = _winner("fmax", "fmax", lambda self, other: (self >= other).logical_or_(other.isnan()), "maximum_cpu")
fmin = _winner("fmin", "fmin", lambda self, other: (self <= other).logical_or_(other.isnan()), "minimum_cpu")
for _op in (maximum, minimum, fmax, fmin):
    publish(_op)


# ---- nan and inf


def _nan_to_num(xp: Namespace, x: Array, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    if x.dtype.kind in "biu":
        return x.copy()
    if x.dtype.kind == "c":
        result = xp.empty_like(x)
        result.real = _nan_to_num(xp, x.real, nan, posinf, neginf)
        result.imag = _nan_to_num(xp, x.imag, nan, posinf, neginf)
        return result
    limits = dt.finfo(dt.of_numpy(x.dtype))
    number = x.dtype.type
    result = xp.array(x)
    xp.copyto(result, number(nan or 0), where=x != x)
    xp.copyto(result, number(limits.max if posinf is None else posinf), where=x == xp.inf)
    xp.copyto(result, number(limits.min if neginf is None else neginf), where=x == -xp.inf)
    return result


nan_to_num = Elementwise(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)",
    _nan_to_num,
    {"self": lambda g, self: g * self.isfinite()},
    complex_gradients=False, dtypes=COMMON, arranged=arranged_as_copy,
)  # fmt: skip
publish(nan_to_num, inplace=True)


describe(
    clamp="""Each element, but no less than `min` and no more than `max`.

    >>> torch.tensor([-2, 0, 7]).clamp(0, 5)
    tensor([0, 0, 5])
    """,
    clamp_max="Each element, but no more than `max`.",
    clamp_min="Each element, but no less than `min`.",
    fmax="The larger of two elements; a NaN counts only where both are.",
    fmin="The smaller of two elements; a NaN counts only where both are.",
    maximum="The larger of two elements; NaN where either is.",
    minimum="The smaller of two elements; NaN where either is.",
    nan_to_num="Each element, with other numbers for NaN and the infinities.",
    relu="Each element, but zero for negative ones.",
    threshold="Each element that is more than `threshold`, and `value` for all others.",
    threshold_backward="The gradient given, but zero where the tensor is no more than `threshold`.",
    where="""Elements of `input` where the condition is true, of `other` where not; alone, the indices
    where it is true.

    >>> torch.where(torch.tensor([True, False]), torch.tensor([1, 2]), 0)
    tensor([1, 0])
    """,
)
