"""Continuous distributions on the real line, moved and stretched: normal, Laplace, Cauchy, Student's t, uniform, …"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor
from ..core.values import bool_, float64
from . import constraints
from .distribution import SCALAR, Distribution, ExponentialFamily
from .gamma_family import Chi2
from .library import torch
from .parameters import broadcast_all, each, epsilon, lazy_property, standard_normal, uniform

LOC_SCALE = each(loc=constraints.real, scale=constraints.positive)
_HALF_LOG_2PI = math.log(2 * math.pi) / 2


class _LocationScale(Distribution):
    loc: Tensor
    scale: Tensor
    arg_constraints = LOC_SCALE
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._settle(validate_args, loc=loc, scale=scale)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    def _standard(self, value: Tensor) -> Tensor:
        """How many scales a value lies above the location."""
        return (self._checked(value) - self.loc) / self.scale


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`."""

    expands = ("loc", "scale")
    _mean_carrier_measure = 0

    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        variance, log_scale = self.scale**2, self.scale.log()
        return -((value - self.loc) ** 2) / (2 * variance) - log_scale - _HALF_LOG_2PI

    def cdf(self, value: Tensor) -> Tensor:
        return (1 + torch.erf(self._standard(value) / math.sqrt(2))) / 2

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + _HALF_LOG_2PI + self.scale.log()

    _natural_params = property(lambda self: (self.loc / self.scale**2, -0.5 / self.scale**2))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -(x**2) / (4 * y) + (-math.pi / y).log() / 2


class Laplace(_LocationScale):
    """Two exponential distributions back to back."""

    expands = ("loc", "scale")

    variance = property(lambda self: 2 * self.scale**2)
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(epsilon(self.loc) - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        z = self._standard(value)
        return 0.5 - 0.5 * z.sign() * torch.expm1(-z.abs())

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


class Cauchy(_LocationScale):
    """The ratio of two normal numbers; it has no mean."""

    expands = ("loc", "scale")

    mean = property(lambda self: self.loc.new_full(self._extended_shape(), math.nan))
    variance = property(lambda self: self.loc.new_full(self._extended_shape(), math.inf))

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return torch.atan(self._standard(value)) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class StudentT(_LocationScale):
    """The distribution of a normal number over the root of an average of `df` squares of others."""

    df: Tensor
    loc: Tensor
    scale: Tensor
    arg_constraints = each(df=constraints.positive, **LOC_SCALE)
    expands = ("df", "loc", "scale")
    holds = ("_chi2",)

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        df, loc, scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(df)
        self._settle(validate_args, df=df, loc=loc, scale=scale)

    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))

    @property
    def variance(self) -> Tensor:
        df = self.df
        finite = self.scale**2 * df / (df - 2)
        return finite.masked_fill(df <= 2, math.inf).masked_fill(df <= 1, math.nan)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        x = standard_normal(self._extended_shape(sample_shape), self.df)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * x * torch.rsqrt(z / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        y, df = self._standard(value), self.df
        gammas = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (0.5 * df).lgamma()
        norm = gammas - (0.5 * (df + 1.0)).lgamma()
        return -0.5 * (df + 1.0) * (y**2.0 / df).log1p() - norm

    def entropy(self) -> Tensor:
        half, more = self.df / 2, (self.df + 1) / 2
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + self.df.log() / 2 + log_beta


class Uniform(Distribution):
    """All numbers from `low` up to `high` alike."""

    high: Tensor
    low: Tensor
    has_rsample = True
    expands = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._settle(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self.low + uniform(self._extended_shape(sample_shape), self.low) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class VonMises(Distribution):
    """The normal distribution's like on a circle: densities go with exp(concentration · cos(angle - loc))."""

    loc: Tensor
    concentration: Tensor
    arg_constraints = each(loc=constraints.real, concentration=constraints.positive)
    support = constraints.real
    expands = ("loc", "concentration")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._settle(validate_args, loc=loc, concentration=concentration)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:
        """That of a direction: 1 less the length of the mean direction."""
        kappa = self.concentration
        return 1 - torch.special.i1e(kappa) / torch.special.i0e(kappa)

    def log_prob(self, value: Tensor) -> Tensor:
        kappa = self.concentration
        log_bessel = torch.special.i0e(kappa).log() + kappa
        return kappa * torch.cos(self._checked(value) - self.loc) - math.log(2 * math.pi) - log_bessel

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that proposes draws."""
        kappa = self.concentration.to(float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        """By Best's and Fisher's rejections (1979), all at once until the last is accepted."""
        shape = self._extended_shape(sample_shape)
        loc, kappa, r = [t.detach().to(float64) for t in (self.loc, self.concentration, self._proposal_r)]
        angle = loc.new_empty(shape)
        done = loc.new_zeros(shape, dtype=bool_)
        while not done.all():
            u1, u2, u3 = uniform((3, *shape), loc).unbind()
            z = torch.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            angle = torch.where(accept, (u3 - 0.5).sign() * f.acos(), angle)
            done = done | accept
        return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold `loc`: with a long tail, an exponential one or none as `concentration` says."""

    concentration: Tensor
    loc: Tensor
    scale: Tensor
    arg_constraints = each(**LOC_SCALE, concentration=constraints.real)
    has_rsample = True
    expands = ("loc", "scale", "concentration")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._settle(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def _by_tail(self, of_power: Any, exponential: Tensor) -> Tensor:
        """What `of_power(concentration)` gives, and where that is close to zero what the exponential tail has."""
        near_zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        safe = torch.where(near_zero, torch.ones_like(self.concentration), self.concentration)
        return torch.where(near_zero, exponential, of_power(safe))

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._z(self._checked(value))
        return self._by_tail(lambda k: -(1 / k + 1) * (k * z).log1p(), -z) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a greater value."""
        z = self._z(self._checked(value))
        return self._by_tail(lambda k: -(k * z).log1p() / k, -z)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a value that is not greater."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        rest = (-value).log1p()
        return self.loc + self.scale * self._by_tail(lambda k: torch.expm1(-k * rest) / k, -rest)

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        finite = self.loc + self.scale / (1 - torch.where(k < 1, k, 0.5))
        return torch.where(k < 1, finite, math.nan)

    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        k = torch.where(self.concentration < 0.5, self.concentration, 0.25)
        finite = self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k))
        return torch.where(self.concentration < 0.5, finite, math.nan)

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).broadcast_to(self._batch_shape)
