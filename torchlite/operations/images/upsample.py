"""Interpolation: images of another size."""

from __future__ import annotations

import functools
import math
from typing import Any

from ...core.declare import Formula, LaidOp
from ...core.machine import LEADING, Tensor, resolve
from ...core.state import local
from ...core.values import Array, Backend, dt
from ..making.windows import Ints, like
from .max_pool import check_dtype
from .resample import Map, interpolating, mapped

Scales = tuple[float, ...] | None


def _maps(mode: str, size: Ints, count: Ints, align_corners: bool, scales: Any, dtype: Any) -> list[Map | None]:
    """How each dimension is mapped."""
    of = "double" if dtype == dt.float64.numpy else "bytes" if dtype.kind == "u" and "nearest" not in mode else "single"
    return [
        None if n == m and (scale in (None, 1) or align_corners)
        else interpolating(mode, n, m, align_corners, scale, of)
        for n, m, scale in zip(size, count, scales)
    ]  # fmt: skip


def _declare(name: str, node: str, dims: int, mode: str) -> LaidOp:
    """The op that interpolates images of so many dimensions in a mode; only some modes ask for `align_corners`."""
    aligns = "nearest" not in mode
    options = ["align_corners"] * aligns + [f"scales{'_' * (dims > 1)}{axis}" for axis in _AXES[dims]]
    listed = "bool align_corners, " * aligns + ", ".join(f"float? {scale}=None" for scale in options[aligns:])

    def maps_of(size: Ints, count: Ints, dtype: Any, rest: tuple[Any, ...]) -> list[Map | None]:
        return _maps(mode, size[len(size) - dims :], count, aligns and rest[0], rest[aligns:], dtype)

    def kernel(backend: Backend, self: Array, output_size: Ints, *rest: Any) -> Any:
        backend.check_room((*self.shape[: self.ndim - dims], *output_size), self.dtype)
        maps = maps_of(self.shape, output_size, self.dtype, rest)
        if self.dtype.kind != "u" or all([m is None or m.plain for m in maps]):
            return mapped(backend, self, maps)
        made = self
        for d in range(dims - 1, -1, -1):  # bytes are rounded after every dimension
            alone = [m if d == at else None for at, m in enumerate(maps)]
            wide = mapped(backend, made.astype(dt.float32.numpy), alone)
            made = backend.xp.clip(backend.xp.floor(wide + 0.5), 0, 255).astype(self.dtype)
        return like(backend, made, self)

    def transposed(backend: Backend, g: Array, output_size: Ints, input_size: Ints, *rest: Any) -> Any:
        maps = maps_of(input_size, output_size, g.dtype, rest)
        return mapped(backend, g, [None if m is None else m.transposed for m in maps])

    op = LaidOp(
        f"{name}(Tensor self, int[] output_size, {listed})", kernel,
        {
            "self": Formula(
                lambda g, self_shape, output_size, *rest: backward.apply(g, output_size, tuple(self_shape), *rest),
                "g", "self_shape", "output_size", *options,
            )
        },
        node=f"{node}Backward0", linear=True, batch=LEADING,
    )  # fmt: skip
    backward = LaidOp(
        f"{name}_backward(Tensor grad_output, int[] output_size, int[] input_size, {listed})",
        transposed,
        {"grad_output": op},
        node=f"{node}BackwardBackward0", linear=True, batch=LEADING,
    )  # fmt: skip
    return op


_AXES = {1: ("",), 2: ("h", "w"), 3: ("d", "h", "w")}

_OPS = {
    (mode, dims): _declare(f"{name}{dims}d{'_aa' * kind.endswith('_aa')}", node, dims, kind)
    for mode, name, node, dims, kind in (
        *[("nearest", "upsample_nearest", f"UpsampleNearest{n}D", n, "nearest") for n in (1, 2, 3)],
        *[("nearest-exact", "_upsample_nearest_exact", f"UpsampleNearestExact{n}D", n, "nearest_exact")
          for n in (1, 2, 3)],
        ("linear", "upsample_linear", "UpsampleLinear1D", 1, "linear"),
        ("bilinear", "upsample_bilinear", "UpsampleBilinear2D", 2, "linear"),
        ("trilinear", "upsample_trilinear", "UpsampleTrilinear3D", 3, "linear"),
        ("bicubic", "upsample_bicubic", "UpsampleBicubic2D", 2, "cubic"),
        ("bilinear_aa", "_upsample_bilinear", "UpsampleBilinear2DAa", 2, "linear_aa"),
        ("bicubic_aa", "_upsample_bicubic", "UpsampleBicubic2DAa", 2, "cubic_aa"),
        ("lanczos_aa", "_upsample_lanczos", "UpsampleLanczos2DAa", 2, "lanczos_aa"),
    )
}  # fmt: skip


def upsample(mode: str, self: Tensor, output_size: Ints | None, scales: Scales, align_corners: bool = False) -> Tensor:
    """Images (n, channels, *size) in another size, given as such or by factors."""
    shape = self._array.shape
    dims = len(shape) - 2
    op = _OPS[mode, dims]
    if output_size is None:
        exact = [n * s for n, s in zip(shape[2:], scales or (), strict=True)]
        if not all([abs(n) < 2.0**63 for n in exact]):
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        output_size = tuple(map(math.floor, exact))
    if local.state.mode.grad:
        resolve(self)  # the history, which may not be asked for, is asked for first
    if min(shape[2:]) <= 0 or min(output_size) <= 0:
        have, made = [
            ", ".join(f"{axis}: {n}" for axis, n in zip("DHW"[3 - dims :], size)) for size in (shape[2:], output_size)
        ]
        joint = " and " if dims == 1 else " "
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({have}){joint}output ({made})"
        )
    if not shape[1]:
        raise RuntimeError(f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(shape)}")
    label = _kernel_name(op.signature.name, dims)
    check_dtype(label, self, _ACCEPTED.get(label, dt.FLOATS | {dt.uint8}))
    aligned = () if "nearest" in mode else (align_corners,)
    return op.apply(self, output_size, *aligned, *(scales or (None,) * dims))


@functools.cache
def _kernel_name(name: str, dims: int) -> str:
    """The name of the kernel in errors."""
    if name.endswith("_aa"):
        return "compute_index_ranges_weights"
    kind = next(kind for kind in ("nearest", "linear", "cubic") if kind in name)
    if dims == 2 and kind != "cubic":
        return f"upsample_{'bi' * (kind == 'linear')}{kind}2d_channels_last"
    return f"compute_indices_weights_{kind}"


_ACCEPTED = {
    "compute_indices_weights_linear": dt.FLOATS,
    "compute_index_ranges_weights": frozenset({dt.float32, dt.float64, dt.uint8}),
}
