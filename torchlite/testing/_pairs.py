"""Two values side by side, and whether they are alike."""

from __future__ import annotations

import abc
import cmath
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from ..core.machine import Tensor, TensorBase
from ..core.machine.registry import functions as F
from ..core.values import dt, strided
from ..core.values.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr

_Identifier = str | Callable[[str], str] | None
_Place = tuple[Any, ...]
_Types = tuple[type, ...]


class ErrorMeta(Exception):
    """An error that is yet to be raised, by `raise meta.to_error()`: its type, its text and where it arose."""

    def __init__(self, type: type[Exception], msg: str, *, id: _Place = ()) -> None:
        super().__init__("What differs is not told by this exception but by its to_error().")
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The error, with this text instead of its own, or with what a function makes of its own."""
        if isinstance(msg, str):
            return self.type(msg)
        place = "".join([f"[{at!r}]" for at in self.id])
        said = self.msg + (f"\n\nThe failure occurred for item {place}" if place else "")
        return self.type(msg(said) if msg else said)


class UnsupportedInputs(Exception):
    """Raised by a pair that cannot compare two values, so that another kind is asked."""


# Relative and absolute by dtype; all others must be equal.
_DTYPE_PRECISIONS = {
    dt.float16: (1e-3, 1e-5),
    dt.bfloat16: (1.6e-2, 1e-5),
    dt.float32: (1.3e-6, 1e-5),
    dt.float64: (1e-7, 1e-7),
    dt.complex64: (1.3e-6, 1e-5),
    dt.complex128: (1e-7, 1e-7),
}
_COMPARED_BY_BITS = frozenset(
    (dt.float8_e4m3fn, dt.float8_e4m3fnuz, dt.float8_e5m2, dt.float8_e5m2fnuz, dt.float8_e8m0fnu)
)

_PLACES = {  # what tells where the values of a sparse tensor are
    sparse_coo: ("_indices",),
    sparse_csr: ("crow_indices", "col_indices"),
    sparse_csc: ("ccol_indices", "row_indices"),
    sparse_bsr: ("crow_indices", "col_indices"),
    sparse_bsc: ("ccol_indices", "row_indices"),
}


def default_tolerances(
    *inputs: Tensor | dt.dtype, dtype_precisions: dict[dt.dtype, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """The relative and the absolute tolerance for tensors or dtypes: the widest of theirs."""
    known = dtype_precisions or _DTYPE_PRECISIONS
    found = [known.get(_dtype_of(value), (0.0, 0.0)) for value in inputs]
    return max([rtol for rtol, _ in found]), max([atol for _, atol in found])


def _dtype_of(value: Any) -> dt.dtype:
    if isinstance(value, TensorBase):
        return value.dtype
    if isinstance(value, dt.dtype):
        return value
    raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(value)} instead.")


def get_tolerances(
    *inputs: Tensor | dt.dtype, rtol: float | None, atol: float | None, id: _Place = ()
) -> tuple[float, float]:
    """The tolerances given, or else the default ones; half of them cannot be given."""
    if rtol is None and atol is None:
        return default_tolerances(*inputs)
    if rtol is None or atol is None:
        missing = "rtol" if rtol is None else "atol"
        raise ErrorMeta(
            ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", id=id
        )
    return rtol, atol


def _mismatch(
    default: str, identifier: _Identifier, extra: str, rtol: float, atol: float, *measured: tuple[str, Any, Any]
) -> str:
    """`measured` are the absolute and the relative difference: their names, sizes and places."""
    subject = identifier or default
    if callable(subject):
        subject = subject(default)
    close = bool(rtol or atol)
    said = [f"{subject} are not {'close' if close else 'equal'}!\n", extra]
    for (name, size, place), allowed in zip(measured, (atol, rtol)):
        at = "" if place is None else f" at index {place}"
        said.append(f"{name} difference: {size}{at}" + (f" (up to {allowed} allowed)" if close else ""))
    return "\n".join(said)


def make_scalar_mismatch_msg(
    actual: complex, expected: complex, *, rtol: float, atol: float, identifier: _Identifier = None
) -> str:
    """How two numbers differ."""
    absolute = abs(actual - expected)
    relative = absolute / abs(expected) if expected else float("inf")
    return _mismatch(
        "Scalars", identifier, f"Expected {expected} but got {actual}.", rtol, atol,
        ("Absolute", absolute, None), ("Relative", relative, None),
    )  # fmt: skip


def make_tensor_mismatch_msg(
    actual: Tensor, expected: Tensor, matches: Tensor, *, rtol: float, atol: float, identifier: _Identifier = None
) -> str:
    """How many elements differ, and where by most."""
    total, wrong = matches.numel(), int((~matches).sum())
    if actual.dtype.category < dt.FLOAT:
        actual, expected = actual.to(dt.int64), expected.to(dt.int64)
    absolute = (actual - expected).abs()
    greatest = []
    for name, measured in (("absolute", absolute), ("relative", absolute / expected.abs())):
        measured[matches] = 0
        at = int(measured.argmax())
        place = tuple([int(i) for i in np.unravel_index(at, tuple(measured.shape))])
        greatest.append((f"Greatest {name}", measured.reshape(-1)[at].item(), place))
    said = f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"
    return _mismatch("Tensor-likes", identifier, said, rtol, atol, *greatest)


class Pair(abc.ABC):
    """Two values to compare, and where they stand. A subclass that cannot compare them raises `UnsupportedInputs`."""

    def __init__(self, actual: Any, expected: Any, *, id: _Place = (), **unknown_parameters: Any) -> None:
        self.actual, self.expected, self.id = actual, expected, id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: type | tuple[type, ...]) -> None:
        if not all(isinstance(value, cls) for value in inputs):
            raise UnsupportedInputs

    def _fail(self, type: type[Exception], msg: str, *, id: _Place = ()) -> NoReturn:
        raise ErrorMeta(type, msg, id=id or self.id)

    @abc.abstractmethod
    def compare(self) -> None:
        """Raise an `ErrorMeta` if the values differ."""

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """Names of attributes to be shown, or names with values."""
        return []

    def __repr__(self) -> str:
        shown = [(name, getattr(self, name)) if isinstance(name, str) else name
                 for name in ("id", "actual", "expected", *self.extra_repr())]  # fmt: skip
        return "\n    ".join([f"{type(self).__name__}(", *[f"{name}={value!s}," for name, value in shown]]) + "\n)"


class ObjectPair(Pair):
    """Any two values, which must be equal."""

    def compare(self) -> None:
        try:
            equal = bool(self.actual == self.expected)
        except Exception as error:
            said = f"{self.actual} == {self.expected} failed with:\n{error}."
            raise ErrorMeta(ValueError, said, id=self.id) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Two values of which one, at least, is None."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    def __init__(self, actual: Any, expected: Any, *, id: _Place, **other_parameters: Any) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return (bool, np.bool_)

    def _process_inputs(self, actual: Any, expected: Any, *, id: _Place) -> tuple[bool, bool]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_bool(actual, id=id), self._to_bool(expected, id=id)

    def _to_bool(self, bool_like: Any, *, id: _Place) -> bool:
        return bool(bool_like)

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    _TYPE_TO_DTYPE: ClassVar = {int: dt.int64, float: dt.float64, complex: dt.complex128}
    _NUMBER_TYPES = tuple(_TYPE_TO_DTYPE)

    def __init__(
        self, actual: Any, expected: Any, *, id: _Place = (), rtol: float | None = None, atol: float | None = None,
        equal_nan: bool = False, check_dtype: bool = False, **other_parameters: Any,
    ) -> None:  # fmt: skip
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)
        kinds = [self._TYPE_TO_DTYPE[type(value)] for value in (actual, expected)]
        self.rtol, self.atol = get_tolerances(*kinds, rtol=rtol, atol=atol, id=id)
        self.equal_nan = equal_nan
        self.check_dtype = check_dtype

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return (*self._NUMBER_TYPES, np.number)

    def _process_inputs(self, actual: Any, expected: Any, *, id: _Place) -> tuple[complex, complex]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_number(actual, id=id), self._to_number(expected, id=id)

    def _to_number(self, number_like: Any, *, id: _Place) -> complex:
        number = number_like.item() if isinstance(number_like, np.number) else number_like
        if type(number) not in self._TYPE_TO_DTYPE:
            raise ErrorMeta(ValueError, f"Unknown number type {type(number)}.", id=id)
        return number

    def compare(self) -> None:
        a, b = self.actual, self.expected
        if self.check_dtype and type(a) is not type(b):
            self._fail(AssertionError, f"The (d)types do not match: {type(a)} != {type(b)}.")
        if a == b or (self.equal_nan and cmath.isnan(a) and cmath.isnan(b)):
            return
        if not (cmath.isfinite(b) and abs(a - b) <= self.atol + self.rtol * abs(b)):
            self._fail(AssertionError, make_scalar_mismatch_msg(a, b, rtol=self.rtol, atol=self.atol))

    def extra_repr(self) -> Sequence[str]:
        return ("rtol", "atol", "equal_nan", "check_dtype")


class TensorLikePair(Pair):
    """Two tensors, or two values of one type that `torch.as_tensor` takes."""

    def __init__(
        self, actual: Any, expected: Any, *, id: _Place = (), allow_subclasses: bool = True, rtol: float | None = None,
        atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True,
        check_layout: bool = True, check_stride: bool = False, **other_parameters: Any,
    ) -> None:  # fmt: skip
        actual, expected = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(actual, expected, rtol=rtol, atol=atol, id=id)
        self.equal_nan = equal_nan
        self.check_device, self.check_dtype = check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def _process_inputs(
        self, actual: Any, expected: Any, *, id: _Place, allow_subclasses: bool
    ) -> tuple[Tensor, Tensor]:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or not (allow_subclasses or type(actual) is type(expected)):
            self._inputs_not_supported()
        pair = self._to_tensor(actual), self._to_tensor(expected)
        for tensor in pair:
            self._check_supported(tensor, id=id)
        return pair

    def _to_tensor(self, tensor_like: Any) -> Tensor:
        if isinstance(tensor_like, TensorBase):
            return tensor_like
        try:
            return F["as_tensor"](tensor_like)
        except Exception:
            self._inputs_not_supported()

    def _check_supported(self, tensor: Tensor, *, id: _Place) -> None:
        if tensor.layout is not strided and tensor.layout not in _PLACES:
            raise ErrorMeta(ValueError, f"Unsupported tensor layout {tensor.layout}", id=id)

    def compare(self) -> None:
        actual, expected = self.actual, self.expected
        self._compare_attributes(actual, expected)
        if "meta" not in (actual.device.type, expected.device.type):
            self._compare_values(*self._equalize_attributes(actual, expected))

    def _compare_attributes(self, actual: Tensor, expected: Tensor) -> None:
        for name, first, second, wanted in (
            ("shape", actual.shape, expected.shape, True),
            ("layout", actual.layout, expected.layout, self.check_layout),
            ("device", actual.device, expected.device, self.check_device),
            ("dtype", actual.dtype, expected.dtype, self.check_dtype),
            ("stride()", *self._strides(actual, expected), self.check_stride),
        ):
            if wanted and first != second:
                said = f"The values for attribute '{name}' do not match: {first} != {second}."
                self._fail(AssertionError, said)

    def _strides(self, actual: Tensor, expected: Tensor) -> tuple[Any, ...]:
        if actual.layout is strided and expected.layout is strided:
            return actual.stride(), expected.stride()
        return None, None

    def _equalize_attributes(self, actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
        actual, expected = actual.detach(), expected.detach().to(actual.device)
        if actual.layout is not expected.layout:
            actual, expected = actual.to_dense(), expected.to_dense()
        if actual.dtype is not expected.dtype:
            common = dt.result_of([actual.dtype, expected.dtype], [], [])
            actual, expected = actual.to(common), expected.to(common)
        return actual, expected

    def _compare_values(self, actual: Tensor, expected: Tensor) -> None:
        if actual.layout is strided:
            self._compare_strided(actual, expected, self.rtol, self.atol)
            return
        kind = str(actual.layout).rpartition("_")[2].upper()
        if actual._nnz() != expected._nnz():
            counts = f"{actual._nnz()} != {expected._nnz()}"
            self._fail(
                AssertionError, f"The number of specified values in sparse {kind} tensors does not match: {counts}"
            )
        for name in _PLACES[actual.layout]:
            first, second = [getattr(tensor, name)().to(dt.int64) for tensor in (actual, expected)]
            self._compare_strided(first, second, 0, 0, f"Sparse {kind} {name.removeprefix('_')}")
        first, second = [tensor._values() if kind == "COO" else tensor.values() for tensor in (actual, expected)]
        self._compare_strided(first, second, self.rtol, self.atol, f"Sparse {kind} values")

    def _compare_strided(
        self, actual: Tensor, expected: Tensor, rtol: float, atol: float, identifier: _Identifier = None
    ) -> None:
        if actual.dtype in _COMPARED_BY_BITS:
            self._compare_bits(actual.view(dt.uint8), expected.view(dt.uint8))
            return
        matches = F["isclose"](actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if bool(matches.all()):
            return
        if matches.dim():
            said = make_tensor_mismatch_msg(actual, expected, matches, rtol=rtol, atol=atol, identifier=identifier)
        else:
            said = make_scalar_mismatch_msg(actual.item(), expected.item(), rtol=rtol, atol=atol)
        self._fail(AssertionError, said)

    def _compare_bits(self, actual: Tensor, expected: Tensor) -> None:
        wrong = F["nonzero"](actual != expected).tolist()
        if wrong:
            share = f"{len(wrong)} / {actual.numel()} ({len(wrong) / actual.numel():.1%})"
            self._fail(
                AssertionError,
                f"Tensor-likes are not 'equal'!\n\nMismatched elements: {share}\nThe first mismatched element is at "
                f"index {tuple(wrong[0])}.",
            )

    def extra_repr(self) -> Sequence[str]:
        return ("rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride")
