"""`hash_tensor`: a number that tells whether elements changed."""

from __future__ import annotations

from typing import Any

from ...core.declare import Op, describe, publish
from ...core.machine import Tensor
from ...core.values import Array, Namespace, dt, not_implemented_for, wrap_dims

Ints = tuple[int, ...]


def _check(self: Tensor, dim: Ints, keepdim: bool, mode: int) -> None:
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    shape = self._array.shape
    if 0 in shape and not dim:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    for d in wrap_dims(dim, len(shape)):
        if shape and not shape[d]:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    if self.dtype.is_complex or self.dtype is dt.uint64:
        raise not_implemented_for("xor_sum_cpu", self.dtype)


def _hash(xp: Namespace, array: Array, dim: Ints, keepdim: bool, mode: int) -> Array:
    """The exclusive or of all bits, of numbers in 64 bits; one half of the elements with the other, again and again."""
    exact = dt.of_numpy(array.dtype).category < dt.FLOAT
    bits = xp.ascontiguousarray(array.astype("int64" if exact else "float64")).view("uint64").reshape(array.shape)
    dims = wrap_dims(dim, array.ndim) if dim and array.ndim else tuple(range(array.ndim))
    kept = [d for d in range(array.ndim) if d not in dims]
    bits = bits.transpose((*kept, *dims)).reshape((*[array.shape[d] for d in kept], -1))
    while bits.shape[-1] > 1:
        odd, half = bits.shape[-1] % 2, bits.shape[-1] // 2
        both = bits[..., :half] ^ bits[..., half : 2 * half]
        bits = xp.concatenate((both, bits[..., -1:]), -1) if odd else both
    shape = [1 if d in dims else n for d, n in enumerate(array.shape) if keepdim or d not in dims]
    return bits.reshape(shape)


def _check_out(out: Any, values: Any) -> None:
    if isinstance(out, Tensor) and out.dtype is not dt.uint64:
        raise RuntimeError(f"Expected result to be of dtype uint64, but got {out.dtype.legacy}")


hash_tensor = Op(
    "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0)",
    _hash,
    check=_check, check_out=_check_out,
)  # fmt: skip
publish(hash_tensor)


describe(hash_tensor="A number that tells tensors apart by their bits.")
