"""`torch.testing.assert_close`: are two values the same, within what rounding may do?

Two values become pairs, one for each place within their containers: each kind of `Pair` says whether it can compare
two values, and does. What differs is told by an `ErrorMeta`, which knows the place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..core.machine import TensorBase
from ..core.machine.registry import functions as F
from ..core.values import dt, warn
from ._pairs import (
    BooleanPair,
    ErrorMeta,
    NonePair,
    NumberPair,
    ObjectPair,
    Pair,
    TensorLikePair,
    UnsupportedInputs,
    _Place,
    _Types,
    default_tolerances,
    get_tolerances,
    make_scalar_mismatch_msg,
    make_tensor_mismatch_msg,
)

__all__ = [
    "BooleanPair", "ErrorMeta", "NonePair", "NumberPair", "ObjectPair", "Pair", "TensorLikePair", "UnsupportedInputs",
    "assert_allclose", "assert_close", "default_tolerances", "get_tolerances", "make_scalar_mismatch_msg",
    "make_tensor_mismatch_msg", "not_close_error_metas", "originate_pairs",
]  # fmt: skip


# ---- pairs


def originate_pairs(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]], sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,), id: _Place = (), **options: Any,
) -> list[Pair]:  # fmt: skip
    """The pairs of two values that may be containers: each of the first of the types that can compare it."""
    parts = _parts(actual, expected, id, sequence_types, mapping_types)
    return [_pair(a, b, pair_types, place, options) for place, a, b in parts]


def _parts(a: Any, b: Any, place: _Place, sequences: _Types, mappings: _Types) -> Iterator[tuple[_Place, Any, Any]]:
    """What is to be compared within two containers of one form, and where it stands there."""
    if _both(a, b, sequences) and not isinstance(a, str) and not isinstance(b, str):
        if len(a) != len(b):
            raise ErrorMeta(AssertionError, f"The length of the sequences mismatch: {len(a)} != {len(b)}", id=place)
        for at, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _parts(x, y, (*place, at), sequences, mappings)
    elif _both(a, b, mappings):
        missing, more = set(b) - set(a), set(a) - set(b)
        if missing or more:
            said = (
                f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(more)}"
            )
            raise ErrorMeta(AssertionError, said, id=place)
        for key in a:
            yield from _parts(a[key], b[key], (*place, key), sequences, mappings)
    else:
        yield place, a, b


def _unwrap_dtensor_for_comparison(actual: Any, expected: Any) -> tuple[Any, Any]:
    """The values themselves: no tensor is spread over several processes."""
    return actual, expected


def _both(a: Any, b: Any, kinds: _Types) -> bool:
    return isinstance(a, kinds) and isinstance(b, kinds)


def _pair(a: Any, b: Any, pair_types: Sequence[type[Pair]], place: _Place, options: dict[str, Any]) -> Pair:
    for kind in pair_types:
        try:
            return kind(a, b, id=place, **options)
        except UnsupportedInputs:
            continue
    said = f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}."
    raise ErrorMeta(TypeError, said, id=place)


def not_close_error_metas(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]] = (ObjectPair,),
    sequence_types: tuple[type, ...] = (Sequence,), mapping_types: tuple[type, ...] = (Mapping,), **options: Any,
) -> list[ErrorMeta]:  # fmt: skip
    """What differs between two values, place by place; nothing where they are close."""
    try:
        pairs = originate_pairs(
            actual, expected, pair_types=pair_types, sequence_types=sequence_types, mapping_types=mapping_types,
            **options,
        )  # fmt: skip
    except ErrorMeta as error:
        raise error.to_error() from None
    return [meta for pair in pairs if (meta := _verdict(pair)) is not None]


def _verdict(pair: Pair) -> ErrorMeta | None:
    try:
        pair.compare()
    except ErrorMeta as meta:
        return meta.with_traceback(None)
    return None


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Raise an AssertionError that tells the difference, where two values differ by more than rounding may do.

    They may be tensors, NumPy arrays, numbers, None, and sequences and mappings of these. Two numbers a and b are close
    if |a - b| <= atol + rtol * |b|; without tolerances, these follow from the dtype.
    """
    metas = not_close_error_metas(
        actual, expected, pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair),
        allow_subclasses=allow_subclasses, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device,
        check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride,
    )  # fmt: skip
    if metas:
        raise metas[0].to_error(msg)


_OLDER_DTYPE_PRECISIONS = {dt.float16: (1e-3, 1e-3), dt.float32: (1e-4, 1e-5), dt.float64: (1e-5, 1e-8)}


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
    msg: str = "",
) -> None:  # fmt: skip
    """The older form of `assert_close`, with other tolerances."""
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
        "use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
    )
    a = actual if isinstance(actual, TensorBase) else F["tensor"](actual)
    b = expected if isinstance(expected, TensorBase) else F["tensor"](expected, dtype=a.dtype)
    if rtol is None and atol is None:
        pairs = [_OLDER_DTYPE_PRECISIONS.get(t.dtype, (0.0, 0.0)) for t in (a, b)]
        rtol, atol = max(r for r, _ in pairs), max(t for _, t in pairs)
    assert_close(
        a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, check_stride=False,
        msg=msg or None,
    )  # fmt: skip
