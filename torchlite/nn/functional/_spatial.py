"""Functions of images: convolutions, pools, padding, resampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

import numpy as np

from ...core.declare import longs
from ...core.machine import Tensor, TensorBase, functions, overridable
from ...core.values import dt, type_name, warn
from ...operations.images import adaptive_max_pool as adaptive
from ...operations.images import average_pool, max_pool
from ...operations.images import grid_sample as sampling
from ...operations.images.average_pool import avg_pool1d, avg_pool2d, avg_pool3d
from ...operations.images.fold import fold as _fold
from ...operations.images.fold import unfold as _unfold
from ...operations.images.padding import pad as _pad
from ...operations.images.upsample import upsample as _upsample
from ..headers import named

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "affine_grid", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "fold", "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "grid_sample", "interpolate", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d",
    "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d", "native_channel_shuffle", "pad",
    "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

Ints = int | Sequence[int]

conv1d, conv2d, conv3d = [functions[f"conv{n}d"] for n in (1, 2, 3)]
conv_transpose1d, conv_transpose2d, conv_transpose3d = [functions[f"conv_transpose{n}d"] for n in (1, 2, 3)]
conv_tbc, _rand = functions["conv_tbc"], functions["rand"]
pixel_shuffle, pixel_unshuffle = functions["pixel_shuffle"], functions["pixel_unshuffle"]
channel_shuffle, native_channel_shuffle = functions["channel_shuffle"], functions["native_channel_shuffle"]
adaptive_avg_pool1d = functions["adaptive_avg_pool1d"]


def _numbers(value: Any, n: int) -> tuple[Any, ...]:
    """One for each dimension."""
    if isinstance(value, TensorBase):
        value = (*value,)  # a 0-dim tensor has nothing to give
    return tuple(value) if isinstance(value, Sequence) else (value,) * n


def _with_and_without_indices(name: str, what: str, make: Callable[[bool], Any]) -> tuple[Any, Any]:
    """Two pools: one that tells where the values lie if it is asked to, and one that always does."""
    return (
        named(name, f"{what}, and where they lie if `return_indices`.", make(False)),
        named(f"{name}_with_indices", f"{what}, and where they lie.", make(True)),
    )


@overridable
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """An image with more before and after it; `pad` begins with the last dimension."""
    return _pad(input, pad, mode, value)


# ---- the largest value of every window


def _max_pools(dims: int, alone: Any, with_indices: Any) -> tuple[Any, Any]:
    def make(always: bool) -> Callable[..., Any]:
        def pool(
            input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
            ceil_mode: bool = False, return_indices: bool = False,
        ) -> Any:  # fmt: skip
            chosen = with_indices if always or return_indices else alone
            return chosen(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)

        return pool

    return _with_and_without_indices(f"max_pool{dims}d", "The largest values of all windows", make)


max_pool1d, max_pool1d_with_indices = _max_pools(1, functions["max_pool1d"], functions["max_pool1d_with_indices"])
max_pool2d, max_pool2d_with_indices = _max_pools(2, max_pool.max_pool2d, max_pool.max_pool2d_with_indices)
max_pool3d, max_pool3d_with_indices = _max_pools(3, max_pool.max_pool3d, max_pool.max_pool3d_with_indices)


def _whole_size(output_size: Any, input: Tensor) -> Any:
    """An output size with None replaced by what the input has."""
    if isinstance(output_size, int):
        return output_size
    if input.dim() <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    have = input.shape[input.dim() - len(output_size) :]
    return tuple([n if wanted is None else wanted for wanted, n in zip(output_size, have)])


def _adaptive_max_pools(dims: int, op: Any) -> tuple[Any, Any]:
    def make(always: bool) -> Callable[..., Any]:
        def pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
            made = op(input, output_size if dims == 1 else _numbers(_whole_size(output_size, input), dims))
            return made if always or return_indices else made[0]

        return pool

    return _with_and_without_indices(f"adaptive_max_pool{dims}d", "The largest values of so many windows", make)


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pools(1, adaptive.adaptive_max_pool1d)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pools(2, adaptive.adaptive_max_pool2d)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pools(3, adaptive.adaptive_max_pool3d)


def _fractional_max_pools(dims: int, op: Any) -> tuple[Any, Any]:
    name = f"fractional_max_pool{dims}d"

    def make(always: bool) -> Callable[..., Any]:
        def pool(
            input: Tensor, kernel_size: Ints, output_size: Any = None, output_ratio: Any = None,
            return_indices: bool = False, _random_samples: Tensor | None = None,
        ) -> Any:  # fmt: skip
            if output_size is None and output_ratio is None:
                raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
            if output_size is None:
                if (dims == 2 or isinstance(output_ratio, Sequence)) and len(output_ratio) > dims:
                    raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
                sizes = input.shape[input.dim() - dims :]
                output_size = [int(n * ratio) for n, ratio in zip(sizes, _numbers(output_ratio, dims))]
            if _random_samples is None:
                images = 1 if input.dim() == dims + 1 else input.size(0)
                channels = input.size(-dims - 1)
                _random_samples = _rand(images, channels, dims, dtype=input.dtype, device=input.device)
            made = op(input, kernel_size, output_size, _random_samples)
            return made if always or return_indices else made[0]

        return pool

    return _with_and_without_indices(name, "The largest values of windows at random distances", make)


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pools(2, adaptive.fractional_max_pool2d)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pools(3, adaptive.fractional_max_pool3d)


def _unpool_output_size(
    input: Tensor, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int], output_size: Any
) -> Sequence[int]:
    """The size that a pool has made an input from, where it can be known; `output_size` may say it exactly."""
    n = len(kernel_size)
    sizes = input.shape[input.dim() - n :]
    usual = [(sizes[d] - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d in range(n)]
    if output_size is None:
        return usual
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
            f"'{len(output_size)}'"
        )
    for d in range(n):
        low, high = usual[d] - stride[d], usual[d] + stride[d]
        if not low < output_size[d] < high:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})')
    return output_size


def _max_unpool(dims: int, unpool: Callable[..., Any]) -> Any:
    def max_unpool(
        input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
        output_size: Any = None,
    ) -> Tensor:  # fmt: skip
        kernel = _numbers(kernel_size, dims)
        steps = kernel if stride is None else _numbers(stride, dims)
        edges = _numbers(padding, dims)
        return unpool(input, indices, _unpool_output_size(input, kernel, steps, edges, output_size), steps, edges)

    return named(f"max_unpool{dims}d", "Images of zeros with values put back to where a pool found them.", max_unpool)


def _unpool_row(input: Tensor, indices: Tensor, size: Sequence[int], *_: Any) -> Tensor:
    return max_pool.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)).squeeze(-1)


max_unpool1d = _max_unpool(1, _unpool_row)
max_unpool2d = _max_unpool(2, lambda input, indices, size, *_: max_pool.max_unpool2d(input, indices, size))
max_unpool3d = _max_unpool(3, max_pool.max_unpool3d)


# ---- means of windows


@overridable
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many windows; None stands for the size that the input has."""
    return average_pool.adaptive_avg_pool2d(input, _numbers(_whole_size(output_size, input), 2))


@overridable
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many windows; None stands for the size that the input has."""
    return average_pool.adaptive_avg_pool3d(input, _numbers(_whole_size(output_size, input), 3))


def _lp_pool(dims: int, avg_pool: Any, max_pool: Any) -> Any:
    def lp_pool(
        input: Tensor, norm_type: int | float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
    ) -> Tensor:
        if norm_type == math.inf:
            return max_pool(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        count = math.prod(_numbers(kernel_size, dims))
        made = avg_pool(input.pow(norm_type), kernel_size, () if stride is None else stride, 0, ceil_mode)
        return (made.sign() * made.abs().relu()).mul(count).pow(1.0 / norm_type)

    return named(f"lp_pool{dims}d", "The norm of every window: the root of the sum of powers.", lp_pool)


lp_pool1d = _lp_pool(1, avg_pool1d, max_pool1d)
lp_pool2d = _lp_pool(2, avg_pool2d, max_pool2d)
lp_pool3d = _lp_pool(3, avg_pool3d, max_pool3d)


# ---- resampling

_ALIGNING = ("linear", "bilinear", "bicubic", "trilinear")
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_RANKS = {"linear": 3, "bilinear": 4, "trilinear": 5}
_AREA = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}


@overridable
def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Images in another size, given as such or by factors."""
    if mode in _ALIGNING:
        if not isinstance(align_corners, (bool, NoneType)):
            given = f"(Tensor, size, {type_name(align_corners)}, scale_factors)"
            raise TypeError(f"upsample_{mode}() received an invalid combination of arguments - got {given}")
    elif align_corners is not None and mode != "lanczos":
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    dims = input.dim() - 2
    size, factors = _size_and_factors(input, dims, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if factors is not None and (mode == "area" or recompute_scale_factor):
        size, factors = tuple([math.floor(float(n) * s) for n, s in zip(input.shape[2:], factors)]), None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    rank = input.dim()
    if rank in (3, 4, 5):
        if mode == "area":
            return _AREA[rank](input, size)
        if mode in ("nearest", "nearest-exact") or (mode in ("bicubic", "lanczos") and rank == 4):
            kind = f"{mode}_aa" if antialias else mode
            return _upsample(kind, input, size, factors, bool(align_corners))
        if mode in _RANKS:
            if rank != _RANKS[mode]:
                raise NotImplementedError(f"Got {rank}D input, but {mode} mode needs {_RANKS[mode]}D input")
            return _upsample(f"{mode}_aa" if antialias else mode, input, size, factors, bool(align_corners))
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: {_MODES} (got {mode})"
    )


def _size_and_factors(input: Tensor, dims: int, size: Any, scale_factor: Any) -> tuple[Any, Any]:
    """Either an output size or factors, for each dimension."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given = scale_factor if size is None else size
    several = isinstance(given, (list, tuple))
    if several and len(given) != dims:
        what, of, form = (
            ("scale_factor", "scale_factor of shape", "scale_factor in (s1, s2, ...,sK)") if size is None
            else ("output", "output size of", "output size in (o1, o2, ...,oK)")
        )  # fmt: skip
        raise ValueError(
            f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(input.shape[2:])} and {of} {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            f"format and {form} format."
        )
    if size is None:
        return None, tuple(map(_float, given if several else (given,) * dims))
    if several and (isinstance(size[0], bool) or not all(hasattr(n, "__index__") for n in size)):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
            f"with types {[type(n) for n in size]}"
        )
    if not several and (not hasattr(size, "__index__") or isinstance(size, bool)):
        raise TypeError(f"interpolate(): argument 'size' must be int or tuple of ints, not {type(size).__name__}")
    sizes = size if several else (size,) * dims
    if any([isinstance(n, Tensor) and n.dtype is dt.bool_ for n in sizes]):
        raise RuntimeError("Expected scalar.isIntegral( false) to be true, but got false.")
    return longs("interpolate", "size", sizes), None


def _float(value: Any) -> float:
    if isinstance(value, (int, float, np.number)):
        return float(value)
    raise TypeError(f"interpolate(): argument 'scale_factor' must be tuple of floats, not {type(value).__name__}")


def _deprecated(name: str) -> None:
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


@overridable
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The former name of `interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@overridable
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by the nearest element."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@overridable
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` linearly, with the corners aligned."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


@overridable
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Images sampled at the points of a grid, whose coordinates go from -1 to 1."""
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    if mode not in modes:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in paddings:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        warn(_CHANGED)
        align_corners = False
    return functions["grid_sampler"](input, grid, modes.index(mode), paddings.index(padding_mode), align_corners)


@overridable
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points to which affine maps lead the points of images of a size, as `grid_sample` takes them."""
    if align_corners is None:
        warn(_CHANGED)
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return sampling.affine_grid_generator(theta, size, align_corners)


# ---- windows as columns


@overridable
def unfold(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """All windows of images as columns."""
    return _unfold(input, kernel_size, dilation, padding, stride)


@overridable
def fold(
    input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """Images as sums of their windows, which are columns."""
    return _fold(input, output_size, kernel_size, dilation, padding, stride)
