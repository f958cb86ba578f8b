"""Distributions made of gamma numbers: gamma, chi-square, exponential, Dirichlet, beta, F."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from ..core.machine import Tensor
from ..operations.making.gamma_draws import dirichlet_vjp
from . import constraints
from .distribution import SCALAR, Distribution, ExponentialFamily
from .library import torch
from .parameters import broadcast_all, each, tiny


class Gamma(ExponentialFamily):
    """Densities go with value^(concentration - 1) e^(-rate value)."""

    concentration: Tensor
    rate: Tensor
    arg_constraints = each(concentration=constraints.positive, rate=constraints.positive)
    support = constraints.nonnegative
    has_rsample = True
    expands = ("concentration", "rate")
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._settle(validate_args, concentration=concentration, rate=rate)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate**2)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = torch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=tiny(value))  # gradients stay as if it had not been so small
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))
        a, rate = self.concentration, self.rate
        return torch.xlogy(a, rate) + torch.xlogy(a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        return torch.igamma(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()


class Chi2(Gamma):
    """Sums of `df` squares of standard normal numbers."""

    arg_constraints = each(df=constraints.positive)
    expands = ("concentration", "rate")

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args)

    df = property(lambda self: self.concentration * 2, doc="The degrees of freedom.")


class Exponential(ExponentialFamily):
    """Waiting times for what happens at a rate."""

    rate: Tensor
    arg_constraints = each(rate=constraints.positive)
    support = constraints.nonnegative
    has_rsample = True
    expands = ("rate",)
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._settle(validate_args, rate=rate)

    mean = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: torch.zeros_like(self.rate))
    stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate**-2)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self.rate.new(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - (-self.rate * self._checked(value)).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    _natural_params = property(lambda self: (-self.rate,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -(-x).log()


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient of a concentration from that of a point drawn with it."""
    return dirichlet_vjp(grad_output, concentration, x)


class Dirichlet(ExponentialFamily):
    """Points of the simplex: densities go with the product of share^(concentration - 1)."""

    arg_constraints = each(concentration=constraints.independent(constraints.positive, 1))
    support = constraints.simplex
    has_rsample = True
    expands = ("concentration",)

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return torch._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        a, value = self.concentration, self._checked(value)
        return torch.xlogy(a - 1.0, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self) -> Tensor:
        weight = (self.concentration - 1).clamp(min=0)
        inside = weight / weight.sum(-1, True)
        corner = (self.concentration < 1).all(-1, True)
        largest = inside.argmax(-1, True)
        return inside.where(~corner, torch.zeros_like(inside).scatter(-1, largest, 1.0))

    @property
    def variance(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total**2 * (total + 1))

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        spread = a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma()
        return spread - ((a - 1) * a.digamma()).sum(-1)

    _natural_params = property(lambda self: (self.concentration,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """Shares of one among two: the first of a Dirichlet distribution's."""

    arg_constraints = each(concentration1=constraints.positive, concentration0=constraints.positive)
    support = constraints.unit_interval
    has_rsample = True
    expands = ()
    holds = ("_dirichlet",)

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        if isinstance(concentration1, Real) and isinstance(concentration0, Real):
            both = torch.tensor([float(concentration1), float(concentration0)])
        else:
            both = torch.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0], doc="How much there is at 1.")
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1], doc="How much there is at 0.")

    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return a * b / ((a + b) ** 2 * (a + b + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    _natural_params = property(lambda self: (self.concentration1, self.concentration0))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()


class FisherSnedecor(Distribution):
    """Ratios of two chi-square numbers, each over its degrees of freedom."""

    df1: Tensor
    df2: Tensor
    arg_constraints = each(df1=constraints.positive, df2=constraints.positive)
    support = constraints.positive
    has_rsample = True
    expands = ("df1", "df2")
    holds = ("_gamma1", "_gamma2")

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        df1, df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(df1 * 0.5, df1)
        self._gamma2 = Gamma(df2 * 0.5, df2)
        self._settle(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2**2 * (df1 + df2 - 2) / (df1 * (df2 - 2) ** 2 * (df2 - 4))

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape)
        below.clamp_(min=tiny(below))
        ratio = above / below
        ratio.clamp_(min=tiny(ratio))
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        constant = (a + b).lgamma() - a.lgamma() - b.lgamma() + a * ratio.log()
        return constant + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
