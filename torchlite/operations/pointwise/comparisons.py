"""Comparisons, tests of single values, logic, and bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.declare import Binary, Elementwise, Op, Unary, describe, method, publish, published_whole
from ...core.machine import Tensor, bump, refuse_batch, resolve
from ...core.state import local
from ...core.values import Array, Namespace, dt, errors, strided
from ..making.host_data import from_numpy
from ..vocabulary import ALL, COMMON, INTEGRAL, ORDERED, TENSOR_FIRST, TENSORS, before_out, no_complex, zero_gradient

# ---- comparisons


# Written into its first operand, a comparison has a gradient: zero.
for _name, _numpy in (
    ("eq", "equal"), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"),
    ("ge", "greater_equal"),
):  # fmt: skip
    publish(
        Binary(
            _name, _numpy, (zero_gradient, zero_gradient), schema=TENSOR_FIRST, result="bool",
            dtypes=ALL if _name in ("eq", "ne") else ORDERED, node=f"{_name.capitalize()}Backward1",
            number_nodes={"other": f"{_name.capitalize()}Backward0"},
            operand_from=(lambda v: from_numpy(v) if isinstance(v, np.ndarray) else v) if _name == "eq" else None,
        ),
        names=_name if _name == "eq" else (_name, _numpy),  # `torch.equal` is another function
        inplace=True, operators=f"{_name}",
    )  # fmt: skip


def _isclose(xp: Namespace, self: Array, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = self == other
    if equal_nan:
        close = close | ((self != self) & (other != other))
    if rtol == 0 and atol == 0:
        return close
    if self.dtype.kind in "biu":
        self, other = self.astype("f8"), other.astype("f8")
    apart = xp.absolute(self - other)
    return close | (xp.isfinite(apart) & (apart <= atol + xp.absolute(rtol * other)))


def _comparable(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> None:
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{self.dtype.legacy} did not match {other.dtype.legacy}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")


def _close_in_steps(
    self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool
) -> Callable[[], Tensor] | None:
    if self.dtype.category < dt.FLOAT or equal_nan or rtol == 0 == atol:
        return None

    def steps() -> Tensor:
        close = self == other
        allowed = (other * rtol).abs() + atol
        apart = (self - other).abs()
        known = apart.abs() != math.inf
        return close.bitwise_or_(((apart == apart) * known).bitwise_and_(apart <= allowed))

    return steps


isclose = Elementwise(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)",
    _isclose, check=_comparable, result="bool", dtypes=COMMON, made_of=_close_in_steps,
)  # fmt: skip
publish(isclose)


@published_whole(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool"
)
def allclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Whether all elements are close: `abs(input - other) <= atol + rtol * abs(other)`."""
    refuse_batch(
        (self, other),
        "vmap over torch.allclose isn't supported yet. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature.",
    )
    return bool(isclose.apply(self, other, rtol, atol, equal_nan).all())


@published_whole("equal(Tensor self, Tensor other) -> bool")
def equal(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and the same elements."""
    refuse_batch((self, other), "Batching rule not implemented for aten::equal. We could not generate a fallback.")
    if self._backend.home is not other._backend.home:
        raise errors.different_devices(self.device, other.device)
    if self._backend.layout is not strided or other._backend.layout is not strided:
        raise errors.missing_kernel_of("equal", (self if self._backend.layout is not strided else other)._backend.real)
    if self._array.shape != other._array.shape:
        return False
    if self.dtype is dt.complex32:
        raise errors.not_implemented_for("equal_notnan_cpu" if self is other else "equal_cpu", self.dtype)
    return bool((self == other).all())


def _no_bool(elements: Any, test_elements: Any, *_: bool) -> None:
    for t in (elements, test_elements):
        d = t.dtype if isinstance(t, Tensor) else dt.complex128 if isinstance(t, complex) else dt.of_number(t)
        if d in (dt.bool_, dt.complex64, dt.complex128):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {d.legacy}")


def _is_in(elements: Tensor, test_elements: Any, assume_unique: bool, invert: bool) -> Tensor:
    tests = test_elements.reshape(-1) if isinstance(test_elements, Tensor) else test_elements
    return (elements.unsqueeze(-1) == tests).any(-1) ^ invert


isin = Op(
    "isin(Tensor elements, Operand test_elements, *, bool assume_unique=False, bool invert=False)",
    lambda xp, elements, test, assume_unique, invert: xp.isin(elements, test, invert=invert),
    check=_no_bool, promote=("elements", "test_elements"), batch=_is_in, asks=False, exact_out=True,
)  # fmt: skip
isin_number = Op(
    "isin.Scalar(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False)",
    lambda xp, element, test, assume_unique, invert: (test == element).any() ^ invert,
    check=_no_bool, batch=lambda element, test, assume_unique, invert: (test == element).any() ^ invert, asks=False,
    exact_out=True,
)  # fmt: skip
publish(isin, isin_number, method=False)


# ---- tests of single values


def _only_real(xp: Namespace, x: Array, test: Callable[[Any], Any]) -> Any:
    return xp.zeros_like(x, dtype=bool) if x.dtype.kind in "biu" else test(x)


_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "isnan": lambda xp, x: _only_real(xp, x, xp.isnan),
    "isinf": lambda xp, x: _only_real(xp, x, xp.isinf),
    "isfinite": lambda xp, x: xp.isfinite(x) if x.dtype.kind in "fcV" else xp.ones_like(x, dtype=bool),
    "isposinf": lambda xp, x: _only_real(xp, x, lambda x: x == xp.inf),
    "isneginf": lambda xp, x: _only_real(xp, x, lambda x: x == -xp.inf),
    "isreal": lambda xp, x: x.imag == 0 if x.dtype.kind == "c" else xp.ones_like(x, dtype=bool),
    "signbit": lambda xp, x: xp.signbit(x) if x.dtype.kind in "fV" else x < 0,
}
_REFUSALS = {
    "isposinf": no_complex(RuntimeError, "isposinf does not support complex inputs."),
    "isneginf": no_complex(RuntimeError, "isneginf does not support complex inputs."),
    "signbit": no_complex(NotImplementedError, "signbit is not implemented for complex tensors."),
}


def _ask_history(self: Tensor) -> None:
    """PyTorch's `isfinite` is made of ops that do so."""
    if local.state.mode.grad:
        resolve(self)


def _finite_in_parts(self: Tensor) -> Callable[[], Tensor] | None:
    """What is itself, and no infinity, is finite."""
    if not self.is_floating_point():
        return None

    def parts() -> Tensor:
        bounded = self.abs() != math.inf
        return (self == self) * bounded

    return parts


def _as_of_parts(result: Tensor, values: Sequence[Any]) -> Tensor:
    """For complex numbers, `isfinite` combines the tests of both parts in place, which counts as a write."""
    if result._array.ndim > 1 and result._backend is not result._backend.home:
        result = result & result  # the last of those ops is a product, which lays odd strides anew
    if values[0].dtype.is_complex:
        bump(result)
    return result


def _bool_only(name: str) -> Callable[..., None]:
    check_operand = before_out(_REFUSALS[name])

    def check(out: Any, values: Any) -> None:
        check_operand(out, values)
        if out.dtype is not dt.bool_:
            raise RuntimeError(f"{name} does not support non-boolean outputs.")

    return check


_OF_EIGHT_BITS = {
    "isfinite": {dt.float8_e5m2, dt.float8_e8m0fnu}, "isinf": {dt.float8_e5m2}, "isnan": ALL, "isreal": ALL,
}  # fmt: skip
for _name, _test in _TESTS.items():
    _words: dict[str, Any] = {"dtypes": COMMON | _OF_EIGHT_BITS.get(_name, set())}
    if _name == "isfinite":
        _words |= {"direct": (), "check": _ask_history, "finish": _as_of_parts, "made_of": _finite_in_parts}
    if _name in _REFUSALS:
        _words |= {"refuse": _REFUSALS[_name], "check_out": _bool_only(_name)}
    publish(Unary(_name, _test, result="bool", **_words))


# ---- logic


def _logical(name: str) -> Callable[..., Any]:
    """The function of this name, which CuPy lacks for complex numbers."""

    def kernel(xp: Namespace, *operands: Any) -> Any:
        return getattr(xp, name)(*[x != 0 if x.dtype.kind == "c" else x for x in operands])

    return kernel


for _name in ("logical_and", "logical_or", "logical_xor"):
    publish(Binary(_name, _logical(_name), schema=TENSORS, result="bool", converts=True), inplace=True)
publish(Unary("logical_not", _logical("logical_not"), result="bool", converts=True), inplace=True)


# ---- bits


for _name in ("and", "or", "xor"):
    publish(
        Binary(f"bitwise_{_name}", f"bitwise_{_name}", dtypes=INTEGRAL | dt.UNSIGNED),
        inplace=True, operators=f"{_name} r{_name}", operators_in_place=f"i{_name}",
    )


def _left_shift(xp: Namespace, self: Array, other: Any) -> Array:
    """0 once all bits are out, which a negative distance also means."""
    last = self.itemsize * 8 - 1
    shifted = xp.left_shift(self, xp.clip(other, 0, last))
    return xp.where((other < 0) | (other > last), 0, shifted).astype(self.dtype)


def _right_shift(xp: Namespace, self: Array, other: Any) -> Any:
    """Once all bits are out, what remains is the sign."""
    last = self.itemsize * 8 - 1
    out = (other < 0) | (other > last)
    shifted = xp.right_shift(self, xp.where(out, last, other).astype(self.dtype))
    return shifted if self.dtype.kind == "i" else xp.where(out, 0, shifted).astype(self.dtype)


for _name, _short, _shift in (("left", "lshift", _left_shift), ("right", "rshift", _right_shift)):
    publish(
        Binary(f"bitwise_{_name}_shift", _shift, dtypes=dt.INTEGERS, label=f"{_short}_cpu"),
        inplace=True, operators=f"{_short}", reflected=f"r{_short}", operators_in_place=f"i{_short}",
    )

invert = Unary("bitwise_not", "invert", dtypes=INTEGRAL)
publish(invert, inplace=True)


@method("__invert__")
def _invert(self: Tensor) -> Tensor:
    if self.dtype.category >= dt.FLOAT:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return self.bitwise_not()


describe(
    bitwise_and="The bits that are set in both operands; of booleans, the logical and.",
    bitwise_left_shift="The bits of each element moved to the left by so many places.",
    bitwise_not="The bits of each element turned over; of booleans, the logical not.",
    bitwise_or="The bits that are set in either operand; of booleans, the logical or.",
    bitwise_right_shift="The bits of each element moved to the right by so many places; the sign stays.",
    bitwise_xor="The bits that are set in one operand only; of booleans, the exclusive or.",
    eq="Where elements are equal.", ge="Where elements are greater than the other's, or equal.",
    gt="Where elements are greater than the other's.",
    isclose="Where two tensors agree: `abs(input - other) <= atol + rtol * abs(other)`.",
    isfinite="Where elements are neither infinite nor NaN.", isin="Where elements are among `test_elements`.",
    isinf="Where elements are infinite.", isnan="Where elements are NaN.",
    isneginf="Where elements are negative infinity.", isposinf="Where elements are positive infinity.",
    isreal="Where elements have no imaginary part.", le="Where elements are less than the other's, or equal.",
    logical_and="Where both elements are true, that is not zero.",
    logical_not="Where elements are false, that is zero.", logical_or="Where either element is true, that is not zero.",
    logical_xor="Where one of two elements is true, that is not zero, but not both.",
    lt="Where elements are less than the other's.", ne="Where elements differ.",
    signbit="Where the sign is negative, that of zeros included.",
)  # fmt: skip
