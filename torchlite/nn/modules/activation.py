"""Activations as modules."""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from ...core.machine import Tensor
from ...core.values import DeviceLike, dt, warn
from ...operations.making.factories import empty
from .. import functional as F
from .. import init as _init
from ..parameter import Parameter
from .fields import fields
from .module import Module
from .multihead_attention import MultiheadAttention

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax",
    "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


# ---- rectifiers


@fields(flags="inplace")
class _InPlace(Module):
    """An activation with no other choice than whether to overwrite its input."""

    inplace: bool = False


class ReLU(_InPlace):
    """`max(0, input)`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


@fields(flags="inplace")
class Threshold(Module):
    """`value` in place of what is not above a threshold."""

    threshold: float
    value: float
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


@fields(flags="inplace")
class RReLU(Module):
    """What is below zero times a number drawn between two bounds; in evaluation, their mean."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


@fields(flags="inplace")
class Hardtanh(Module):
    """`input` between two bounds."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    min_value: InitVar[float | None] = None
    max_value: InitVar[float | None] = None

    def complete(self, min_value: float | None, max_value: float | None) -> None:
        if min_value is not None:
            _warn_renamed("min_value", "min_val")
            self.min_val = min_value
        if max_value is not None:
            _warn_renamed("max_value", "max_val")
            self.max_val = max_value
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


def _warn_renamed(old: str, new: str) -> None:
    warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning)


@fields(constants="", hidden="min_val max_val")
class ReLU6(Hardtanh):
    """`input` between 0 and 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


@fields(constants="inplace negative_slope", flags="inplace")
class LeakyReLU(Module):
    """What is below zero times `negative_slope`."""

    negative_slope: float = 1e-2
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


@fields(constants="num_parameters", hidden="init")
class PReLU(Module):
    """What is below zero times a weight that is learned: one, or one for each channel."""

    num_parameters: int = 1
    init: float = 0.25
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None

    def complete(self, device: DeviceLike, dtype: Any) -> None:
        self.weight = Parameter(empty(self.num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to `init`."""
        _init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


@fields(constants="", repr=False)
class Hardsigmoid(_InPlace):
    """A line from 0 at -3 to 1 at 3, flat beyond."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


@fields(constants="", repr=False)
class Hardswish(_InPlace):
    """`input * hardsigmoid(input)`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


@fields(bare="lambd")
class _Shrink(Module):
    lambd: float = 0.5


class Hardshrink(_Shrink):
    """Zero in place of what lies between -lambd and lambd."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """The input brought nearer to zero by `lambd`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


# ---- smooth


class Sigmoid(Module):
    """`1 / (1 + exp(-input))`."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class SiLU(_InPlace):
    """`input * sigmoid(input)`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """`input * tanh(softplus(input))`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class SELU(_InPlace):
    """`ELU` with the constants that keep mean and variance as they are."""

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


@fields(flags="inplace")
class ELU(Module):
    """`alpha * (exp(input) - 1)` below zero."""

    alpha: float = 1.0
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


@fields(flags="inplace")
class CELU(Module):
    """`alpha * (exp(input / alpha) - 1)` below zero."""

    alpha: float = 1.0
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


@fields
class GELU(Module):
    """`input` times the normal distribution's probability of less; "tanh" is an approximation."""

    approximate: str = "none"

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


@fields
class Softplus(Module):
    """`log(1 + exp(beta * input)) / beta`; the input itself where that is above the threshold."""

    beta: float = 1.0
    threshold: float = 20.0

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softsign(Module):
    """`input / (1 + |input|)`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """`input - tanh(input)`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


# ---- along a dimension


@fields
class GLU(Module):
    """The first half along `dim` times the sigmoid of the second."""

    dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


@fields
class _Along(Module):
    dim: int | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"dim": None} | state)


class Softmax(_Along):
    """Positive numbers along a dimension, with sum one."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class Softmin(_Along):
    """The `Softmax` of `-input`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class LogSoftmax(_Along):
    """The logarithm of `Softmax`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmax2d(Module):
    """`Softmax` over the channels of each place in an image."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
