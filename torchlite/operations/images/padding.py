"""Padding: with a constant, or with what an image itself has, reflected, repeated or from its other end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...core.declare import LaidOp, describe, publish, publish_python
from ...core.machine import LEADING, Tensor, fitting_array, resolve
from ...core.state import local
from ...core.values import Array, Backend, dense_strides, dt, errors
from ..making.windows import like
from ..vocabulary import zero_gradient
from .resample import Map, mapped

Ints = tuple[int, ...]
Place = Callable[[int, int, range], int]

# ---- with a constant


def _check_pad(self: Tensor, pad: Ints, value: Any) -> None:
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * self.dim():
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {self.dim()}dimensions."
        )
    shape = self._array.shape
    for i, (before, after) in enumerate(_pairs(pad, len(shape))):
        if shape[i] + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        if shape[i] + before + after < 0:
            raise RuntimeError(
                f"The input size {shape[i]}, plus negative padding {before} and {after} resulted in a negative output "
                f"size, which is invalid. Check dimension {i} of your input."
            )


def _pairs(pad: Ints, ndim: int) -> list[tuple[int, int]]:
    """The padding before and after each dimension, first to last; `pad` begins with the last."""
    given = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(given)) + given[::-1]


def _with_value(op: LaidOp, values: Any, backend: Backend) -> tuple[Any, ...]:
    """The value is checked against the tensor's dtype before anything is computed."""
    t, pad, value = values
    return [t._array, pad, fitting_array(value, t.dtype, backend)], t.dtype


def _constant_pad(backend: Backend, array: Array, pad: Ints, value: Any) -> Any:
    pairs = _pairs(pad, array.ndim)
    result = backend.empty(tuple([n + before + after for n, (before, after) in zip(array.shape, pairs)]), array.dtype)
    for d, (before, after) in enumerate(pairs):
        if before > 0:
            result[(slice(None),) * d + (slice(before),)] = value
        if after > 0:
            result[(slice(None),) * d + (slice(-after, None),)] = value
    to = tuple([slice(max(before, 0), r - max(after, 0)) for r, (before, after) in zip(result.shape, pairs)])
    from_ = tuple([slice(max(-before, 0), n - max(-after, 0)) for n, (before, after) in zip(array.shape, pairs)])
    result[to] = array[from_]
    if max(pad, default=0) <= 0:  # a part, copied as it lies
        return backend.ordered(result, dense_strides(result.shape, backend.strides(array)))
    return like(backend, result, array)


constant_pad_nd: LaidOp = LaidOp(
    "constant_pad_nd(Tensor self, int[] pad, Scalar value=0)",
    _constant_pad,
    {"self": lambda g, pad: constant_pad_nd.apply(g, tuple([-n for n in pad]), 0)},
    check=_check_pad, prepare=_with_value, by_form=True, batch=LEADING,
)  # fmt: skip
publish(constant_pad_nd, method=False)


# ---- with what the image has


@functools.lru_cache(256)
def _padded(place: Place, size: int, before: int, after: int) -> Map | None:
    """The map of a dimension to the padded one.

    `place` says which element stands at a place, inside the image or beyond; a negative padding leaves some out.
    """
    if not before and not after:
        return None
    kept = range(max(-before, 0), size - max(-after, 0))
    return Map([[(place(i, size, kept), 1)] for i in range(-before, size + after)], size)


def _reflected(i: int, size: int, kept: range) -> int:
    return abs(i) if i < size else 2 * (size - 1) - i


def _replicated(i: int, size: int, kept: range) -> int:
    return min(max(i, 0), size - 1)


def _from_the_other_end(i: int, size: int, kept: range) -> int:
    kept = kept or range(size)  # where nothing is kept, PyTorch leaves memory as it is
    return kept[(i - kept.start) % len(kept)]


def _maps(place: Place, size: Ints, pad: Ints) -> list[Map | None]:
    return [_padded(place, n, before, after) for n, (before, after) in zip(size, _pairs(pad, len(size)))]


def _transposed(m: Map | None) -> Map | None:
    return None if m is None else m.transposed


def _declare(name: str, place: Place, dims: int, node: str) -> LaidOp:
    """The op that pads the last dimensions of an image so."""

    def kernel(backend: Backend, self: Array, padding: Ints) -> Any:
        sizes = [n + before + after for n, (before, after) in zip(self.shape, _pairs(padding, self.ndim))]
        backend.check_room(sizes, self.dtype)
        return mapped(backend, self, _maps(place, self.shape[self.ndim - dims :], padding))

    def transposed(backend: Backend, g: Array, self: Array, padding: Ints) -> Any:
        maps = _maps(place, self.shape[self.ndim - dims :], padding)
        return like(backend, mapped(backend, g, [_transposed(m) for m in maps]), self)

    op = LaidOp(
        f"{name}(Tensor self, int[] padding)", kernel,
        {"self": lambda g, self, padding: backward.apply(g, self, padding)},
        node=f"{node}Backward0", linear=True, batch=LEADING,
    )  # fmt: skip
    backward = LaidOp(
        f"{name}_backward(Tensor grad_output, Tensor self, int[] padding)", transposed,
        {"grad_output": op, "self": zero_gradient},
        node=f"{node}BackwardBackward0", linear=True, batch=LEADING,
    )  # fmt: skip
    return op


_OPS = {
    (mode, dims): _declare(f"{name}_pad{dims}d", place, dims, f"{name.capitalize()}Pad{dims}D")
    for mode, name, place in (("reflect", "reflection", _reflected), ("replicate", "replication", _replicated))
    for dims in (1, 2, 3)
} | {
    ("circular", dims): _declare(f"_pad_circular{dims}d", _from_the_other_end, dims, f"PadCircular{dims}D")
    for dims in (1, 2, 3)
}


def _check_image(self: Tensor, pad: Ints, mode: str, dims: int) -> None:
    shape = self._array.shape
    pairs = _pairs(pad, len(shape))
    if mode == "circular":
        for n, (before, after) in zip(shape, pairs):
            if before > n or after > n:
                raise RuntimeError("Padding value causes wrapping around more than once.")
            if n + before + after < 0:
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
        return
    if local.state.mode.grad:
        resolve(self)  # the history, which may not be asked for, is asked for first
    if 0 in shape[len(shape) - dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    for d in range(len(shape) - 1, len(shape) - dims - 1, -1):
        if mode == "reflect" and max(pairs[d]) >= shape[d]:
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({pairs[d][0]}, {pairs[d][1]}) at dimension {d} of input {list(shape)}"
            )
    made = [n + before + after for n, (before, after) in zip(shape, pairs)]
    if dims == 1 and made[-1] < 1:
        raise RuntimeError(f"input (W: {shape[-1]}) is too small. Calculated output W: {made[-1]}")
    if min(made) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(made)}: {made}")
    if self.dtype is dt.bool_:
        name = {"reflect": "reflection", "replicate": "replication"}[mode]
        raise errors.not_implemented_for(f"{name}_pad{dims}d", self.dtype)


def _pad(self: Tensor, pad: Ints, mode: str, value: float | None) -> Tensor:
    """An image with more before and after it; `pad` begins with the last dimension."""
    ndim = self.dim()
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {ndim}"
        )
    if mode == "constant":
        return constant_pad_nd.apply(self, pad, 0.0 if value is None else value)
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    _check_image(self, pad, mode, dims)
    return _OPS[mode, dims].apply(self, pad)


pad = publish_python(
    'pad(Tensor self, int[] pad, str mode="constant", float? value=None)', _pad, function=False, method=False,
)


describe(
    constant_pad_nd="The tensor with a border of one value; widths are given from the last dimension on, before "
    "and after.",
)
