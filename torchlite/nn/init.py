"""`torch.nn.init`: filling parameters with their first values."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Literal

from ..absent import lacking
from ..autograd.grad_mode import no_grad
from ..core.machine import Generator, Tensor, dispatch, needs_dispatch, wrap
from ..core.state import local
from ..core.values import HALVES, leaving, not_implemented_for, warn
from ..operations.making.draws import randperm
from ..operations.making.factories import empty_like
from ..operations.making.factories import eye as identity
from ..operations.pointwise.selection import where

__all__ = [
    "calculate_gain", "uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_",
    "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_", "uniform",
    "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
    "orthogonal", "sparse",
]  # fmt: skip

_Nonlinearity = Literal[
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid",
    "tanh", "relu", "leaky_relu", "selu",
]  # fmt: skip
_FanMode = Literal["fan_in", "fan_out"]

_GAINS = {"sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_LINEAR = ("linear", *[f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)])


def calculate_gain(nonlinearity: _Nonlinearity, param: int | float | None = None) -> float:
    """The factor by which weights before this nonlinearity are to be larger; `param` is leaky_relu's slope."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


def _offered(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that handlers may take over, who get its arguments by name."""
    signature = inspect.signature(f)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        if not needs_dispatch(args, kwargs):
            return f(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return dispatch(call, (), given.arguments)

    return call


# ---- one distribution


@_offered
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers drawn evenly between `a` and `b`."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


@_offered
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normally distributed numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill with normally distributed numbers, of those between `a` and `b`."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )
    if tensor.is_meta:
        return tensor
    likely = _cumulated((b - mean) / std) - _cumulated((a - mean) / std)
    draw = _draw_from_normal if likely >= 0.3 else _draw_evenly
    with no_grad():
        return tensor.copy_(draw(tensor, mean, std, a, b, generator))


def _cumulated(x: float) -> float:
    """The probability that a standard normal number is below `x`."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _draw_from_normal(like: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Draw again what is out of bounds, until nothing is."""
    low, high = like.new_tensor(a).item(), like.new_tensor(b).item()
    found = empty_like(like).normal_(mean, std, generator=generator)
    while (again := (found < low) | (found > high)).any():
        found = where(again, empty_like(like).normal_(mean, std, generator=generator), found)
    return found


def _draw_evenly(like: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Draw between the bounds, and again what is less likely than another draw wants it to be."""
    peak = -0.5 * ((min(max(mean, a), b) - mean) / std) ** 2
    found: Any = None
    again: Any = None
    while again is None or again.any():
        made = empty_like(like).uniform_(a, b, generator=generator)
        likelihood = made.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        refused = empty_like(like).uniform_(generator=generator).log_() > likelihood
        found, again = (made, refused) if again is None else (where(again, made, found), again & refused)
    return found


@_offered
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    with no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    with no_grad():
        return tensor.zero_()


# What modules outside of PyTorch call, who know these by their private names.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_


# ---- maps that leave their input as it is


def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(identity(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make the weight of a convolution one that hands as many channels through as it can."""
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    middle = tuple([n // 2 for n in sizes[2:]])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, sizes[1])):
                tensor[(group * per_group + channel, channel, *middle)] = 1
    return tensor


# ---- scaled by the number of connections


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output depends on, and the other way round."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Tensor, mode: _FanMode) -> int:
    mode = mode.lower()  # type: ignore[assignment]
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill evenly around zero, wider the fewer inputs and outputs are connected (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    with no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill normally around zero, wider the fewer inputs and outputs are connected (Glorot and Bengio, 2010)."""
    std = _xavier_std(tensor, gain)
    with no_grad():
        return tensor.normal_(0.0, std, generator=generator)


def _kaiming_std(tensor: Tensor, a: float, mode: _FanMode, nonlinearity: _Nonlinearity) -> float | None:
    """The standard deviation; None for a tensor without elements."""
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@_offered
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: _FanMode = "fan_in", nonlinearity: _Nonlinearity = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill evenly around zero, so that rectified signals keep their size from layer to layer (He et al., 2015).

    `a` is the slope of leaky_relu; `mode` says whether the forward ("fan_in") or the backward pass keeps it.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    with no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: _FanMode = "fan_in", nonlinearity: _Nonlinearity = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """As `kaiming_uniform_`, with normally distributed numbers."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    with no_grad():
        return tensor.normal_(0, std, generator=generator)


# ---- others


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a random matrix whose rows, or columns, are perpendicular and of length `gain` (Saxe et al., 2013)."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    with no_grad():
        q, r = _qr(flat.t() if rows < columns else flat)
        q = q * r.diag().sign()  # evenly distributed
        if rows < columns:
            q = q.t()
        tensor.view_as(q).copy_(q)
        return tensor.mul_(gain)


def _qr(t: Tensor) -> tuple[Tensor, Tensor]:
    if t.dtype in HALVES:
        raise not_implemented_for("geqrf_cpu", t.dtype)
    q, r = local.state.quiet(t._backend.xp.linalg.qr, t._array)
    return wrap(q, t.dtype, t._backend), wrap(r, t.dtype, t._backend)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill with normally distributed numbers, but a share `sparsity` of each column with zeros (Martens, 2010)."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


# ---- old names


def _make_deprecate(meth: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new = meth.__name__
    old = new[:-1]
    made = leaving(meth, f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", old)
    made.__doc__ = f"Deprecated: use `{new}`."
    return made


uniform = _make_deprecate(uniform_)
normal = _make_deprecate(normal_)
constant = _make_deprecate(constant_)
eye = _make_deprecate(eye_)
dirac = _make_deprecate(dirac_)
xavier_uniform = _make_deprecate(xavier_uniform_)
xavier_normal = _make_deprecate(xavier_normal_)
kaiming_uniform = _make_deprecate(kaiming_uniform_)
kaiming_normal = _make_deprecate(kaiming_normal_)
orthogonal = _make_deprecate(orthogonal_)
sparse = _make_deprecate(sparse_)

__getattr__ = lacking(__name__)
