"""`torch.testing.assert_close`: are two values the same, within what rounding may do?"""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtype as dt
from ..core.op import functions as F
from ..core.tensor import Tensor, TensorBase

# Relative and absolute tolerance by dtype; all others must be equal.
_TOLERANCES = {
    dt.float16: (1e-3, 1e-5),
    dt.bfloat16: (1.6e-2, 1e-5),
    dt.float32: (1.3e-6, 1e-5),
    dt.float64: (1e-7, 1e-7),
    dt.complex64: (1.3e-6, 1e-5),
    dt.complex128: (1e-7, 1e-7),
}
_NUMBERS = {bool: dt.bool_, int: dt.int64, float: dt.float64, complex: dt.complex128}


def default_tolerances(*values: Any) -> tuple[float, float]:
    """The relative and the absolute tolerance for tensors or dtypes: the widest of theirs."""
    dtypes = [v if isinstance(v, dt.dtype) else v.dtype for v in values]
    pairs = [_TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
    return max([r for r, _ in pairs]), max([a for _, a in pairs])


class _Options:
    """How two values are to be compared."""

    def __init__(self, rtol: float | None, atol: float | None, **flags: bool) -> None:
        self.rtol, self.atol = rtol, atol
        self.flags = flags

    def tolerances(self, *dtypes: dt.dtype) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        if self.rtol is self.atol:
            return default_tolerances(*dtypes)
        missing = "rtol" if self.rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise an AssertionError that tells the difference, where two values differ by more than rounding may do.

    They may be tensors, NumPy arrays, numbers, None, and sequences and mappings of these. Two numbers a and b are close
    if |a - b| <= atol + rtol * |b|; without tolerances, these follow from the dtype.
    """
    options = _Options(
        rtol, atol, allow_subclasses=allow_subclasses, equal_nan=equal_nan, check_device=check_device,
        check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride,
    )  # fmt: skip
    for place, a, b in _parts(actual, expected, ()):
        try:
            said = _difference(a, b, options)
        except ValueError as error:
            raise ValueError(str(error) + _at(place)) from None
        if said is not None:
            said += _at(place)
            raise AssertionError(said if msg is None else msg(said) if callable(msg) else msg)


def _parts(a: Any, b: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """What is to be compared within two containers of one form, and where it stands there."""
    if _is(a, b, Sequence) and not isinstance(a, str) and not isinstance(b, str):
        if len(a) != len(b):
            raise AssertionError(f"The length of the sequences mismatch: {len(a)} != {len(b)}" + _at(place))
        for at, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _parts(x, y, (*place, at))
    elif _is(a, b, Mapping):
        missing, more = set(b) - set(a), set(a) - set(b)
        if missing or more:
            raise AssertionError(
                f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(more)}" + _at(place)
            )
        for key in a:
            yield from _parts(a[key], b[key], (*place, key))
    else:
        yield place, a, b


def _at(place: tuple[Any, ...]) -> str:
    return f"\n\nThe failure occurred for item {''.join([f'[{at!r}]' for at in place])}" if place else ""


def _is(a: Any, b: Any, kind: type) -> bool:
    return isinstance(a, kind) and isinstance(b, kind)


def _difference(a: Any, b: Any, options: _Options) -> str | None:
    """What is to be said about two values that are no containers; None where they are close."""
    number = (bool, int, float, complex, np.number, np.bool_)
    if a is None and b is None:
        return None
    if _is(a, b, (bool, np.bool_)):  # type: ignore[arg-type]
        return None if bool(a) is bool(b) else f"Booleans mismatch: {bool(a)} is not {bool(b)}"
    if _is(a, b, number):  # type: ignore[arg-type]
        return _of_numbers(a, b, options)
    if (_is(a, b, TensorBase) and (options.flags["allow_subclasses"] or type(a) is type(b))) or _is(a, b, np.ndarray):
        first, second = [F["as_tensor"](v) if isinstance(v, np.ndarray) else v for v in (a, b)]
        return _of_tensors(first, second, options)
    if a is None or b is None:
        return f"None mismatch: {a} is not {b}"
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}.")


def _of_numbers(a: Any, b: Any, options: _Options) -> str | None:
    x, y = [v.item() if isinstance(v, np.generic) else v for v in (a, b)]
    kinds = [_NUMBERS[type(v)] for v in (x, y)]
    rtol, atol = options.tolerances(*kinds)
    if options.flags["check_dtype"] and type(x) is not type(y):
        return f"The (d)types do not match: {type(x)} != {type(y)}."
    difference = abs(x - y)
    tolerance = atol + rtol * abs(y)
    alike = x == y or (options.flags["equal_nan"] and x != x and y != y)
    if alike or (cmath.isfinite(y) and difference <= tolerance):
        return None
    return _about_numbers(x, y, difference, difference / abs(y) if y else float("inf"), rtol, atol)


def _about_numbers(x: Any, y: Any, difference: Any, relative: Any, rtol: float, atol: float) -> str:
    word, by, ratio = _words(rtol, atol)
    return (
        f"Scalars are not {word}!\n\nExpected {y} but got {x}.\nAbsolute difference: {difference}{by}\n"
        f"Relative difference: {relative}{ratio}"
    )


def _words(rtol: float, atol: float) -> tuple[str, str, str]:
    """What was asked for, and how much more was allowed."""
    if not rtol and not atol:
        return "equal", "", ""
    return "close", f" (up to {atol} allowed)", f" (up to {rtol} allowed)"


def _of_tensors(a: Tensor, b: Tensor, options: _Options) -> str | None:
    flags = options.flags
    rtol, atol = options.tolerances(a.dtype, b.dtype)
    attributes = [("shape", a.shape, b.shape, True), ("layout", a.layout, b.layout, flags["check_layout"]),
                  ("device", a.device, b.device, flags["check_device"]),
                  ("dtype", a.dtype, b.dtype, flags["check_dtype"]),
                  ("stride()", a.stride(), b.stride(), flags["check_stride"])]  # fmt: skip
    for name, first, second, wanted in attributes:
        if wanted and first != second:
            return f"The values for attribute '{name}' do not match: {first} != {second}."
    a, b = a.detach(), b.detach().to(a.device)
    if a.dtype is not b.dtype:
        common = dt.result_of([a.dtype, b.dtype], [], [])
        a, b = a.to(common), b.to(common)
    close = F["isclose"](a, b, rtol=rtol, atol=atol, equal_nan=flags["equal_nan"])
    if bool(close.all()):
        return None
    if a.dtype.category < dt.FLOAT:
        a, b = a.to(dt.int64), b.to(dt.int64)
    difference = (a - b).abs()
    relative = difference / b.abs()
    for measured in (difference, relative):
        measured[close] = 0
    if not close.dim():
        return _about_numbers(a.item(), b.item(), difference.item(), relative.item(), rtol, atol)
    return _report(close, difference, relative, rtol, atol)


def _report(close: Tensor, difference: Tensor, relative: Tensor, rtol: float, atol: float) -> str:
    """How many elements differ, and where by most."""
    total, wrong = close.numel(), int((~close).sum())
    word, by, ratio = _words(rtol, atol)
    said = [f"Tensor-likes are not {word}!\n", f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"]
    for name, measured, allowed in (("absolute", difference, by), ("relative", relative, ratio)):
        at = int(measured.argmax())
        place = tuple([int(i) for i in np.unravel_index(at, tuple(measured.shape))])
        said.append(f"Greatest {name} difference: {measured.reshape(-1)[at].item()} at index {place}{allowed}")
    return "\n".join(said)


_OLDER_TOLERANCES = {dt.float16: (1e-3, 1e-3), dt.float32: (1e-4, 1e-5), dt.float64: (1e-5, 1e-8)}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form of `assert_close`, with other tolerances."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
        "use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    a, b = (v if isinstance(v, TensorBase) else F["as_tensor"](v) for v in (actual, expected))
    if rtol is None and atol is None:
        pairs = [_OLDER_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (a, b)]
        rtol, atol = max(r for r, _ in pairs), max(t for _, t in pairs)
    assert_close(
        a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, check_stride=False,
        msg=msg or None,
    )  # fmt: skip
