"""Element types: `torch.float32` and its kin, how they promote, and what they can represent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from ..structs import know, renew_defaults
from .pickling import bear_name, means_this, reduce_ex, shown_in
from .sealed import sealed

BOOL, INT, FLOAT, COMPLEX = range(4)


@shown_in("torch")
class dtype:
    """The type of a tensor's elements. There is one object per type, so `is` compares them."""

    __slots__ = (
        "category", "cname", "has_storage", "is_complex", "is_floating_point", "is_signed", "itemsize", "legacy",
        "name", "numpy", "promotable", "rank",
    )  # fmt: skip

    def __init__(
        self, name: str, numpy: Any, category: int, rank: int, legacy: str, cname: str, itemsize: int = 0
    ) -> None:
        """A type that no tensor can have has no NumPy type, and says its itemsize."""
        self.name = name
        if numpy is not None:
            self.numpy = np.dtype(numpy)
        self.category = category
        self.rank = rank
        self.legacy = legacy
        self.cname = cname
        self.itemsize = itemsize or self.numpy.itemsize
        self.is_floating_point = category == FLOAT
        self.is_complex = category == COMPLEX
        self.is_signed = name.startswith("int") or (category >= FLOAT and name != "float8_e8m0fnu")
        self.promotable = not name.startswith(("float8", "uint16", "uint32", "uint64"))
        self.has_storage = self.promotable and name != "complex32"  # whether there is a class of storages of it

    def __getattr__(self, name: str) -> Any:
        if name == "numpy":
            raise NotImplementedError(f"torchlite has no tensors of {self!r}")
        raise AttributeError(f"'torch.dtype' object has no attribute {name!r}")

    @property
    def abbr(self) -> str:
        """The short name: `f32` for float32."""
        name = self.name
        short = name.replace("uint", "u").replace("int", "i").replace("float", "f").replace("_", "")
        return _ABBREVIATED.get(name, name if self in _NAMED_ONLY else short)

    def to_real(self) -> dtype:
        """The dtype of the real part of its elements."""
        return _REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype whose parts are of this dtype."""
        found = _COMPLEX_OF.get(self)
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.legacy}")
        return found

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return self.name if means_this() else (of_name, (self.name,))


# name, NumPy type, category, rank within the category, legacy tensor-type prefix (also how errors name it), C name
bool_ = dtype("bool", np.bool_, BOOL, 0, "Bool", "bool")
uint8 = dtype("uint8", np.uint8, INT, 0, "Byte", "unsigned char")
uint16 = dtype("uint16", np.uint16, INT, 2, "UInt16", "short unsigned int")
uint32 = dtype("uint32", np.uint32, INT, 3, "UInt32", "unsigned int")
uint64 = dtype("uint64", np.uint64, INT, 4, "UInt64", "long unsigned int")
int8 = dtype("int8", np.int8, INT, 1, "Char", "signed char")
int16 = dtype("int16", np.int16, INT, 2, "Short", "short int")
int32 = dtype("int32", np.int32, INT, 3, "Int", "int")
int64 = dtype("int64", np.int64, INT, 4, "Long", "long int")
float16 = dtype("float16", np.float16, FLOAT, 1, "Half", "c10::Half")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOAT, 1, "BFloat16", "c10::BFloat16")
float32 = dtype("float32", np.float32, FLOAT, 2, "Float", "float")
float64 = dtype("float64", np.float64, FLOAT, 3, "Double", "double")
complex64 = dtype("complex64", np.complex64, COMPLEX, 2, "ComplexFloat", "c10::complex<float>")
complex128 = dtype("complex128", np.complex128, COMPLEX, 3, "ComplexDouble", "c10::complex<double>")
know(floating=float32, float16=float16, float32=float32, float64=float64, int64=int64, bool_=bool_)
_HALF_COMPLEX = getattr(ml_dtypes, "complex32", None)  # which older ml_dtypes have not
complex32 = dtype("complex32", _HALF_COMPLEX, COMPLEX, 1, "ComplexHalf", "c10::complex<c10::Half>", 4)
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOAT, 0, "Float8_e4m3fn", "c10::Float8_e4m3fn")
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOAT, 0, "Float8_e5m2", "c10::Float8_e5m2")
float8_e4m3fnuz = dtype(
    "float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOAT, 0, "Float8_e4m3fnuz", "c10::Float8_e4m3fnuz"
)
float8_e5m2fnuz = dtype(
    "float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOAT, 0, "Float8_e5m2fnuz", "c10::Float8_e5m2fnuz"
)
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOAT, 0, "Float8_e8m0fnu", "c10::Float8_e8m0fnu")

DTYPES: tuple[dtype, ...] = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64,
    complex64, complex128, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu,
    *(() if _HALF_COMPLEX is None else (complex32,)),
)  # fmt: skip

# Types that programs and files may name, and that no tensor can have here. (In PyTorch hardly an operator takes them.)
_QUANTISED = (("qint8", 1), ("quint8", 1), ("qint32", 4), ("quint4x2", 1), ("quint2x4", 1))
_BITS = (("bits1x8", 1), ("bits2x4", 1), ("bits4x2", 1), ("bits8", 1), ("bits16", 2))
_NAMED_ONLY: tuple[dtype, ...] = (
    dtype("float4_e2m1fn_x2", None, FLOAT, 0, "Float4_e2m1fn_x2", "c10::Float4_e2m1fn_x2", 1),
    *(dtype(q, None, INT, 0, q.replace("uint", "UInt").replace("int", "Int").replace("q", "Q"), f"c10::{q}", size)
      for q, size in _QUANTISED),
    *(dtype(b, None, INT, 0, b.capitalize(), f"c10::{b}", size) for b, size in _BITS),
    *(dtype(f"{u}int{n}", None, INT, 0, f"{u.upper()}Int{n}", f"c10::dummy_{u}int1_7_t<{n}>", 1)
      for u in ("", "u") for n in range(1, 8)),
)  # fmt: skip

sealed(dtype)

QUANTIZED = tuple([d for d in _NAMED_ONLY if d.name in ("qint8", "quint8", "qint32")])  # of quantized tensors

_ABBREVIATED = {
    "bfloat16": "bf16", "bool": "b8", "complex32": "c32", "complex64": "c64", "complex128": "c128",
    "float4_e2m1fn_x2": "f4e2m1fnx2", "bits1x8": "b1x8", "bits2x4": "b2x4", "bits4x2": "b4x2", "bits8": "b8x1",
    "bits16": "b16x1",
}  # fmt: skip

# Every public name, PyTorch's second names included.
NAMES: dict[str, dtype] = {d.name: d for d in (*DTYPES, complex32, *_NAMED_ONLY)} | {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "chalf": complex32, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
NAMES["bit"] = NAMES["uint1"]

_REAL = {complex32: float16, complex64: float32, complex128: float64}
_COMPLEX_OF = {d.to_real(): d for d in _REAL} | {d: d for d in _REAL} | {bfloat16: complex64}
_BY_NUMPY: dict[Any, dtype] = {d.numpy: d for d in DTYPES}

UNSIGNED = frozenset((uint16, uint32, uint64))  # which few ops have kernels for
INTEGERS = frozenset(d for d in DTYPES if d.category == INT) - UNSIGNED
FLOATS = frozenset((float16, bfloat16, float32, float64))
HALVES = frozenset((float16, bfloat16))
EIGHT_BITS = frozenset((float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu))
WIDE = {float16: float32, bfloat16: float32, complex32: complex64}  # what those of half the length are computed in
COMPLEXES = frozenset((complex32, complex64, complex128))
NUMBERS = INTEGERS | FLOATS | COMPLEXES


def of_name(name: str) -> dtype:
    return NAMES[name]


def of_numpy(numpy: Any) -> dtype:
    """The torchlite dtype of a NumPy dtype; TypeError for one that tensors cannot hold."""
    found = _BY_NUMPY.get(numpy)
    if found is None:
        found = _BY_NUMPY.get(np.dtype(numpy).newbyteorder("="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {np.dtype(numpy).type.__module__}.{np.dtype(numpy).type.__name__}. "
            "The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, "
            "int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found


def _promote(a: dtype, b: dtype) -> dtype:
    if a is b:
        return a
    for d in (a, b):
        if d in _NAMED_ONLY:
            raise RuntimeError(f"Promotion from {a.legacy} and {b.legacy} is unsupported.")
    for family in ("float8", "uint16", "uint32", "uint64"):
        wide = family.startswith("uint")
        if not (a.name.startswith(family) or b.name.startswith(family)):
            continue
        other = b if a.name.startswith(family) else a
        if wide and other.promotable and other.category == FLOAT:
            return other
        kind = "uint16, uint32, uint64 types" if wide and not other.name.startswith("float8") else "Float8 Types"
        raise RuntimeError(f"Promotion for {kind} is not supported, attempted to promote {a.legacy} and {b.legacy}")
    low, high = (a, b) if (a.category, a.rank) <= (b.category, b.rank) else (b, a)
    if low.category != high.category:
        return promote_types(low, high.to_real()).to_complex() if low.category == FLOAT else high
    if low is uint8 and high is int8:
        return int16
    return float32 if low.rank == high.rank else high


_PROMOTED: dict[tuple[dtype, dtype], dtype] = {}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that both types convert to without loss of category."""
    if type1 is type2:
        return type1
    found = _PROMOTED.get((type1, type2))
    if found is None:
        found = _PROMOTED[type1, type2] = _promote(type1, type2)
    return found


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of type `from_` may be written into `to`: a category is never lowered."""
    return from_.category <= to.category and not (to is bool_ and from_ is not bool_)


class _Defaults:
    """The process-wide default floating type."""

    floating = float32


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats."""
    return _Defaults.floating


def set_default_dtype(d: dtype) -> None:
    """Make `d` the dtype of tensors made from Python floats (complex numbers follow it)."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if not d.promotable:
        raise TypeError(f"couldn't find storage object {d.legacy}Storage")
    _Defaults.floating = d
    know(floating=d)
    renew_defaults()


def default_complex() -> dtype:
    return _Defaults.floating.to_complex()


def of_number(value: Any) -> dtype:
    """The dtype a Python number gets when a tensor is made from it."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    return default_complex() if isinstance(value, complex) else _Defaults.floating


def of_operand(number: Any) -> dtype:
    """The dtype a Python number has beside tensors: an int beyond int64 is a uint64."""
    return uint64 if number.__class__ is int and number >> 63 == 1 else of_number(number)


def result_of(dimensioned: Iterable[dtype], zero_dim: Iterable[dtype] = (), numbers: Iterable[dtype] = ()) -> dtype:
    """PyTorch's promotion over operands: a weaker kind counts only when its category is higher."""
    result: dtype | None = None
    for kind in (dimensioned, zero_dim, numbers):
        of_kind: dtype | None = None
        for d in kind:
            of_kind = d if of_kind is None else promote_types(of_kind, d)
        if of_kind is None:
            continue
        if result is None:
            result = of_kind
        elif of_kind.category > result.category:  # float64 and a complex number are one of twice the length
            result = result.to_complex() if result.category == FLOAT else _promoted_from(result, of_kind)
    assert result is not None
    return result


def _promoted_from(low: dtype, high: dtype) -> dtype:
    return promote_types(low, high) if low is bool_ and high.category == INT else high


_DEFAULT = object()  # stands for a type that is not given


def _of_python(type: Any) -> Any:
    """The dtype that a class of Python's numbers stands for; anything else as it is."""
    return {float: float64, complex: complex128, int: int64, bool: bool_}.get(type, type) if callable(type) else type


class finfo:
    """The limits of a floating-point type (of the default dtype when none is given)."""

    def __init__(self, type: Any = _DEFAULT) -> None:
        d = get_default_dtype() if type is _DEFAULT else _of_python(type)
        if not isinstance(d, dtype):
            raise TypeError(f"finfo(): argument 'type' (position 1) must be torch.dtype, not {d.__class__.__name__}")
        if d.category < FLOAT:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        d = d.to_real()
        info = ml_dtypes.finfo(d.numpy)
        self.dtype = d.name
        self.bits = d.itemsize * 8
        self.eps = 0.125 if d is float8_e5m2fnuz else float(info.eps)  # PyTorch's figure; the true one is 0.25
        self.max, self.min = float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = _RESOLUTION.get(d, 1.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


_RESOLUTION = {float16: 1e-3, bfloat16: 1e-2, float32: 1e-6, float64: 1e-15}


class iinfo:
    """The limits of an integer type."""

    def __init__(self, type: Any) -> None:
        type = _of_python(type)
        if not isinstance(type, dtype):
            raise TypeError(f"iinfo(): argument 'type' (position 1) must be torch.dtype, not {type.__class__.__name__}")
        if type.category >= FLOAT or type in _NAMED_ONLY:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self.dtype = type.name
        self.bits = type.itemsize * 8
        self.min = -(1 << self.bits - 1) if type.is_signed else 0
        self.max = (1 << self.bits - type.is_signed) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


for _limits in (finfo, iinfo):
    bear_name(_limits, "torch")
    _limits.__reduce_ex__ = reduce_ex  # type: ignore[method-assign]
