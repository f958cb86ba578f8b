"""What arguments the laws accept; everything else fails here, in PyTorch's words, before anything is drawn."""

from __future__ import annotations

import functools
from collections.abc import Container

import ml_dtypes
import numpy as np

from ...core.values import dt, not_implemented_for, warn

INT64_MIN = -(2**63)
KERNEL_TYPES = dt.FLOATS | {dt.bool_, dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64}

NUMBER_TYPES = KERNEL_TYPES - {dt.bool_}
SINGLE_DOUBLE = frozenset((dt.float32, dt.float64))

# How many digits (base 2) the float types have.
_DIGITS = {dt.float32: 24, dt.float64: 53, dt.float16: 11, dt.bfloat16: 8}

# Of random_() without bounds: the first integer it does not reach.
FULL_RANGE = {
    np.dtype(dtype): end
    for dtype, end in (
        (np.int64, 2**63), (np.int32, 2**31), (np.int16, 2**15), (np.int8, 2**7), (np.uint8, 2**8), (np.bool_, 2),
        (np.float64, 2**53 + 1), (np.float32, 2**24 + 1), (np.float16, 2**11 + 1), (ml_dtypes.bfloat16, 2**8 + 1),
    )
}  # fmt: skip

_LARGEST_FLOAT = {d.numpy: float(ml_dtypes.finfo(d.numpy).max) for d in _DIGITS}


@functools.lru_cache(256)
def implemented(kernel: str, dtype: np.dtype, types: Container[dt.dtype] = dt.FLOATS) -> None:
    d = dt.of_numpy(dtype)
    if d not in types:
        raise not_implemented_for(kernel, d)


def uniform(dtype: np.dtype, lo: float, hi: float) -> None:
    largest = _LARGEST_FLOAT.get(dtype, -1)
    if -largest <= lo <= hi <= largest and hi - lo <= largest:
        return
    implemented("check_uniform_bounds", dtype)
    d = dt.of_numpy(dtype)
    for bound, name in ((lo, "from"), (hi, "to")):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {d.cname}")
    if lo > hi:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={_number(lo)} > to={_number(hi)}"
        )
    raise RuntimeError(
        f"uniform_ expects to-from <= std::numeric_limits<{d.legacy}>::max(), but found to={_number(hi)} and "
        f"from={_number(lo)} which result in to-from to exceed the limit"
    )


def normal(std: float) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {_number(std)}")


def positive(op: str, name: str, value: float) -> None:
    if not value > 0:
        raise RuntimeError(f"{op} expects {name} > 0.0, but found {name}={_number(value)}")


def bernoulli(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={_number(p)}")


def geometric(p: float) -> None:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={_number(p)}")


def continuous(law: str, dtype: np.dtype, *, in_c: bool = False) -> None:
    d = dt.of_numpy(dtype)
    if d not in dt.FLOATS:
        raise RuntimeError(
            f"{law} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {d.cname if in_c else d.legacy}"
        )


def randperm(n: int, dtype: np.dtype) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    d = dt.of_numpy(dtype)
    if d.category == dt.INT and n - 1 > np.iinfo(dtype).max:
        raise RuntimeError(f"value cannot be converted to type {d.name}_t without overflow")
    if d is dt.float16 and n > 2**11 + 1:
        raise RuntimeError("n cannot be greater than 2049 for Half type.")
    if d in (dt.float32, dt.float64) and n > 2 ** _DIGITS[d] + 1:
        raise RuntimeError(f"n cannot be greater than 2^{_DIGITS[d]}+1 for {d.legacy} type.")
    implemented("randperm", dtype, NUMBER_TYPES)


def binomial(count: np.ndarray, p: np.ndarray) -> None:
    n, q = dt.of_numpy(count.dtype), dt.of_numpy(p.dtype)
    for d, name in ((n, "count"), (q, "prob")):
        if not d.is_floating_point:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {d.legacy}")
    implemented("binomial_cpu", count.dtype, SINGLE_DOUBLE)
    if n is not q:
        raise RuntimeError(f"Found dtype {q.legacy} but expected {n.legacy}")


def multinomial(p: np.ndarray, n: int, replacement: bool) -> None:
    d = dt.of_numpy(p.dtype)
    if d not in dt.FLOATS:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {d.legacy}")
    if n <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and n > p.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if p.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")


def weights(p: np.ndarray) -> None:
    """All rows of multinomial's weights at once, as it looks at them when it draws without replacement."""
    if len(p) and not p.shape[-1]:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if not (np.isfinite(p) & (p >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (p > 0).any(axis=-1).all():
        raise RuntimeError(_NO_WEIGHT)


def good_rows(p: np.ndarray) -> tuple[int, str]:
    """How many rows of multinomial's weights come before one that is wrong, and what is wrong with that one."""
    wrong = ~(np.isfinite(p) & (p >= 0))
    rows = np.flatnonzero(wrong.any(axis=1) | ~(p > 0).any(axis=1))
    if not rows.size:
        return len(p), ""
    row = int(rows[0])
    entries = p[row][wrong[row]]
    if not entries.size:
        return row, _NO_WEIGHT
    kind = "= infinity or NaN" if entries[0] > 0 else "< 0"
    return row, f"invalid multinomial distribution (encountering probability entry {kind})"


_NO_WEIGHT = "invalid multinomial distribution (sum of probabilities <= 0)"


def integers(dtype: np.dtype, lo: int, hi: int) -> tuple[int, int]:
    """The bounds lo <= x < hi to draw between: a float dtype has them moved inwards to numbers it can hold."""
    if lo >= hi:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={lo} >= to={hi}")
    d = dt.of_numpy(dtype)
    if d in _DIGITS:
        lo, hi = _representable_from(dtype, lo), _representable_to(dtype, hi)
        if lo >= hi:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                f"from={lo} >= to={hi}"
            )
    _representable(dtype, lo, hi - 1)
    return lo, hi


def all_of_int64(dtype: np.dtype) -> None:
    d = dt.of_numpy(dtype)
    kernel = "random_full_64_bits_range_kernel_cpu"
    if d in (dt.bool_, dt.float16, dt.uint16, dt.uint32, dt.uint64) or d.is_complex:
        raise not_implemented_for(kernel, d)
    if d not in (dt.int64, dt.float64, dt.float32, dt.bfloat16):
        raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")


def integers_from(dtype: np.dtype, lo: int) -> tuple[int, int]:
    """The bounds lo <= x < hi, where hi - 1 is the largest integer up to which the dtype has all."""
    d = dt.of_numpy(dtype)
    if d.is_complex:
        raise RuntimeError("random_from_to_impl handles only integral, floating-point and boolean types")
    last = 2 ** _DIGITS[d] if d in _DIGITS else int(_largest(dtype))
    if d in _DIGITS:
        lo = _representable_from(dtype, lo)
        if lo >= last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got "
                f"from={lo} > to_inc={last}"
            )
    _representable(dtype, lo, last)
    return lo, last + 1


def _representable(dtype: np.dtype, first: int, last: int) -> None:
    d = dt.of_numpy(dtype)
    if d.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if d in dt.EIGHT_BITS:
        raise not_implemented_for("random_update_from_to", d)
    largest = _largest(dtype)
    least = -largest if d in _DIGITS else _least(dtype)
    bounds = ((first, "from"), (last, "to - 1"))
    for bound, name in bounds:
        # Bounds are int64, and so the last of uint64 is none.
        if not least <= bound <= largest or bound >= 2**63:
            raise RuntimeError(f"{name} is out of bounds for {d.cname}")
    for bound, name in bounds if d in _DIGITS else ():
        if abs(bound) > 2 ** _DIGITS[d]:
            warn(
                f"{name} is out of bounds [-(2^{_DIGITS[d]}), 2^{_DIGITS[d]}]. Due to precision limitations {d.cname} "
                "can support discrete uniform distribution only within this range. This warning will become an error "
                "in version 1.7 release, please fix the code in advance",
            )


def _representable_from(dtype: np.dtype, lo: int) -> int:
    return _rounded(dtype, lo + 1) + _spacing(dtype, lo + 1) if _rounded(dtype, lo + 1) < lo else lo


def _representable_to(dtype: np.dtype, hi: int) -> int:
    return _rounded(dtype, hi - 1) - _spacing(dtype, hi - 1) if _rounded(dtype, hi - 1) >= hi else hi


def _rounded(dtype: np.dtype, value: int) -> int:
    single = np.float64(value) if dtype == np.float64 else np.float32(value)
    if dtype == np.float16 and abs(single) >= 65520:  # type: ignore[operator]
        return INT64_MIN  # which is what becomes of infinity
    rounded = float(single.astype(dtype))
    return int(rounded) if abs(rounded) < 2.0**63 else INT64_MIN


def _spacing(dtype: np.dtype, value: int) -> int:
    return 2 ** max(0, abs(value).bit_length() - _DIGITS[dt.of_numpy(dtype)])


@functools.cache
def _least(dtype: np.dtype) -> int:
    return 0 if dtype == np.bool_ else int(np.iinfo(dtype).min)


@functools.cache
def _largest(dtype: np.dtype) -> float | int:
    d = dt.of_numpy(dtype)
    if d is dt.bool_:
        return 1
    if d.category == dt.INT:
        return int(np.iinfo(dtype).max)
    return _LARGEST_FLOAT[dtype]


def _number(value: float) -> str:
    """A number as C++ streams print it."""
    return f"{value:g}"
