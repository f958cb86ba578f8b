"""Padding with a constant."""

from __future__ import annotations

from typing import Any

from ..core.batching import LEADING
from ..core.op import Op
from ..core.operands import fitting_array
from ..core.publish import publish
from ..core.tensor import Tensor


def _check_pad(self: Tensor, pad: tuple[int, ...], value: Any) -> None:
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * self.dim():
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {self.dim()} dimensions."
        )
    shape = self.array.shape
    for i, (before, after) in enumerate(_pairs(pad, len(shape))):
        if shape[i] + before + after < 0:
            raise RuntimeError(
                f"The input size {shape[i]}, plus negative padding {before} and {after} resulted in a negative output "
                f"size, which is invalid. Check dimension {i} of your input."
            )


def _pairs(pad: tuple[int, ...], ndim: int) -> list[tuple[int, int]]:
    """What is added before and after each dimension; `pad` begins with the last."""
    given = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(given)) + given[::-1]


class _Pad(Op):
    """The value is checked against the tensor's dtype before anything is computed."""

    def prepare(self, values: Any, backend: Any) -> Any:
        t, pad, value = values
        return [t.array, pad, fitting_array(value, t.dtype, backend)], t.dtype


def _constant_pad(xp: Any, array: Any, pad: tuple[int, ...], value: Any) -> Any:
    pairs = _pairs(pad, array.ndim)
    result = xp.empty([n + before + after for n, (before, after) in zip(array.shape, pairs)], array.dtype)
    result[...] = value
    to = tuple([slice(max(before, 0), r - max(after, 0)) for r, (before, after) in zip(result.shape, pairs)])
    from_ = tuple([slice(max(-before, 0), n - max(-after, 0)) for n, (before, after) in zip(array.shape, pairs)])
    result[to] = array[from_]
    return result


constant_pad_nd = _Pad(
    "constant_pad_nd(Tensor self, int[] pad, Scalar value=0)",
    _constant_pad,
    {"self": lambda g, pad: constant_pad_nd.apply(g, tuple([-n for n in pad]), 0)},
    check=_check_pad,
    batch=LEADING,
)
publish(constant_pad_nd, forms="function")
