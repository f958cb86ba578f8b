"""Dropout: setting elements, or whole channels, to zero at random."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.declare import ITSELF, Elementwise, Op, describe, publish_python, published
from ...core.machine import Tensor, functions
from ...core.state import is_watched, local
from ...core.values import Array, Backend, cannot_cast, dt, missing_kernel_of, strided
from ..making.draws import bernoulli_number, draws_itself, stream_of_device

_FLOOR = 1.7580993408473766  # what selu comes to far below zero, but for the sign


def _kept(input: Tensor, keep: float, d: dt.dtype) -> Tensor:
    """Ones with probability `keep`, else zeros, in the form of a tensor."""
    home = input._backend.home
    if home.values and not local.state.levels and input.layout is strided and input._array.flags.c_contiguous:
        return bernoulli_number.fresh(input._array.shape, d, home, keep, None)
    return bernoulli_number.fresh_like(input, None, d, home, keep, None)


def _noise(input: Tensor, keep: float, by_channel: bool) -> Tensor:
    """Ones with probability `keep`, else zeros: one for each element, or for each channel of each example."""
    if input.layout is not strided:
        raise missing_kernel_of("bernoulli_.float", input._backend.real)
    if is_watched() and not by_channel:
        return functions["empty_like"](input).bernoulli_(keep)
    if not by_channel:
        return _kept(input, keep, input.dtype)
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*input.shape[:2], *[1] * (input.dim() - 2))
    one = input.new_empty(shape)
    return one.bernoulli_(keep) if is_watched() else _kept(one, keep, input.dtype)


def _kind(by_channel: bool, alpha: bool, in_place: bool) -> Callable[[Tensor, float, bool], Tensor]:
    """One of the functions: `alpha` ones drop to the floor of selu, and keep mean and variance."""

    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
        if p == 0 or not train or not input.numel():
            return input
        if p == 1:
            nothing = input.new_zeros(())
            return input.mul_(nothing) if in_place else input * nothing
        if input.is_cuda and not (alpha or by_channel or in_place or is_watched()) and input.layout is strided:
            return native_dropout(input, p, True)[0]  # which is one kernel
        noise = _noise(input, 1 - p, by_channel)
        if not alpha:
            noise.div_(1 - p)
            return input.mul_(noise) if in_place else input * noise
        a = 1 / math.sqrt((_FLOOR * _FLOOR * p + 1) * (1 - p))
        shift = (noise - 1).mul_(_FLOOR * a).add_(_FLOOR * a * p)
        noise.mul_(a)
        return (input.mul_(noise) if in_place else input * noise).add_(shift)

    return drop


for _name, _by_channel, _alpha in (
    ("dropout", False, False), ("feature_dropout", True, False), ("alpha_dropout", False, True),
    ("feature_alpha_dropout", True, True),
):  # fmt: skip
    publish_python(
        f"{_name}(Tensor input, float p, bool train)", _kind(_by_channel, _alpha, False), method=False, by_form=False
    )
    publish_python(f"{_name}_(Tensor self, float p, bool train)", _kind(_by_channel, _alpha, True), method=False)


_masked = Elementwise(
    "native_dropout(Tensor self, Tensor mask, float scale)",
    lambda xp, x, mask, scale: x * mask * x.dtype.type(scale),
    {"self": ITSELF, "mask": None},
    dtypes=dt.FLOATS, halves="wide", apart=("mask",),
    refuse=lambda d: None if d in dt.FLOATS else cannot_cast(dt.get_default_dtype(), d),
)  # fmt: skip


def _drop(backend: Backend, x: Array, keep: float, generator: Any) -> Any:
    """The numbers that are kept, scaled, and which they are, where the device draws."""
    return stream_of_device("_fused_dropout", generator, backend).dropout(x, keep)


_drawn: Op = Op(
    "_fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor result0, Tensor result1)",
    _drop,
    {"self": lambda g, result1, p: _masked.apply(g, result1, 1 / p)},
    node="NativeDropoutBackward0", on_backend=True, by_form=False, differentiable=1,
)  # fmt: skip


@published(
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor result0, Tensor result1)", method=False,
    by_form=False,
)
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`dropout`, and the mask of what was kept."""
    if train is False or not input.numel():
        mask = input.new_ones(input.shape, dtype=dt.bool_)
        return _masked.apply(input, mask, 1.0), mask
    if p < 1 and input.dtype in dt.FLOATS and draws_itself(input):
        return _drawn.apply(input, 1 - p, None)
    mask = _kept(input, 1 - p, dt.bool_)
    return _masked.apply(input, mask, 0.0 if p == 1 else 1 / (1 - p)), mask


describe(
    alpha_dropout="Dropout that keeps mean and variance of what SELU gives: dropped elements become its negative "
    "limit.",
    dropout="Each element set to zero with probability `p`, the others scaled by `1 / (1 - p)`, while training.",
    feature_alpha_dropout="`alpha_dropout` of whole channels.",
    feature_dropout="Dropout of whole channels.",
)
