"""Exchanging channels with pixels, and channels with one another."""

from __future__ import annotations

from typing import Any

from ...core.declare import By, LaidOp, describe, publish
from ...core.machine import LEADING, Tensor
from ...core.values import Array, Backend
from ..making.windows import like


def _check_pixels(name: str, self: Tensor, factor: int, what: str) -> None:
    if self.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")


def _check_shuffle(self: Tensor, upscale_factor: int) -> None:
    _check_pixels("pixel_shuffle", self, upscale_factor, "upscale_factor")
    channels = self._array.shape[-3]
    if channels % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {upscale_factor**2}"
        )


def _check_unshuffle(self: Tensor, downscale_factor: int) -> None:
    _check_pixels("pixel_unshuffle", self, downscale_factor, "downscale_factor")
    for at, name in ((-2, "height"), (-1, "width")):
        if self._array.shape[at] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({at})={self._array.shape[at]} is not divisible by {downscale_factor}"
            )


def _pixel_shuffle(backend: Backend, self: Array, factor: int) -> Any:
    *lead, c, h, w = self.shape
    n = len(lead)
    parts = self.reshape((*lead, c // factor**2, factor, factor, h, w))
    made = parts.transpose((*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return like(backend, backend.copy(made, "C").reshape((*lead, c // factor**2, h * factor, w * factor)), self)


def _pixel_unshuffle(backend: Backend, self: Array, factor: int) -> Any:
    *lead, c, h, w = self.shape
    n = len(lead)
    parts = self.reshape((*lead, c, h // factor, factor, w // factor, factor))
    made = parts.transpose((*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return like(backend, backend.copy(made, "C").reshape((*lead, c * factor**2, h // factor, w // factor)), self)


pixel_shuffle = LaidOp(
    "pixel_shuffle(Tensor self, int upscale_factor)",
    _pixel_shuffle,
    {"self": lambda g, upscale_factor: pixel_unshuffle.apply(g, upscale_factor)},
    check=_check_shuffle, linear=True, batch=LEADING,
)  # fmt: skip
pixel_unshuffle: LaidOp = LaidOp(
    "pixel_unshuffle(Tensor self, int downscale_factor)",
    _pixel_unshuffle,
    {"self": By(pixel_shuffle, {"upscale_factor": "downscale_factor"})},
    check=_check_unshuffle, linear=True, batch=LEADING,
)  # fmt: skip
publish(pixel_shuffle, method=False)
publish(pixel_unshuffle, method=False)


def _check_channels(self: Tensor, groups: int) -> None:
    shape = self._array.shape
    if len(shape) <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )


def _channel_shuffle(backend: Backend, self: Array, groups: int) -> Any:
    n, c, *rest = self.shape
    parts = self.reshape((n, groups, c // groups, *rest)).swapaxes(1, 2)
    return like(backend, parts.copy("C").reshape(self.shape), self)


def _shuffled_batch(self: Tensor, groups: int) -> Tensor:
    channels = self.shape[1]
    return self.unflatten(1, (groups, channels // max(groups, 1))).transpose(1, 2).flatten(1, 2)


def _declare(name: str) -> None:
    op = LaidOp(
        f"{name}(Tensor self, int groups)",
        _channel_shuffle,
        {"self": lambda g, self_shape, groups: op.apply(g, self_shape[1] // groups)},
        check=_check_channels, linear=True, batch=_shuffled_batch,
    )  # fmt: skip
    publish(op, method=False)


_declare("channel_shuffle")
_declare("native_channel_shuffle")


describe(
    channel_shuffle="The channels of a batch of images taken in turn from so many groups.",
    native_channel_shuffle="As `channel_shuffle`.",
    pixel_shuffle="Channels made pixels: `(c * r * r, h, w)` becomes `(c, h * r, w * r)`.",
    pixel_unshuffle="Pixels made channels: `(c, h * r, w * r)` becomes `(c * r * r, h, w)`.",
)
