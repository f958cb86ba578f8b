"""Distributions that transforms make of simpler ones: log-normal, Gumbel, Weibull, Pareto, half-normal, …"""

from __future__ import annotations

import math
from typing import Any

from ..core.machine import Tensor
from ..core.values import Size
from . import constraints
from .composed import TransformedDistribution
from .gamma_family import Exponential, Gamma
from .library import torch
from .location_scale import LOC_SCALE, Cauchy, Normal, Uniform
from .parameters import broadcast_all, each, epsilon, euler_constant, tiny
from .transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform, StickBreakingTransform

_SCALE = each(scale=constraints.positive)


def of_base(name: str) -> Any:
    """A parameter that is the base distribution's."""
    return property(lambda self: getattr(self.base_dist, name), doc=f"The {name} of the base distribution.")


class LogNormal(TransformedDistribution):
    """Numbers whose logarithms are normal."""

    arg_constraints = LOC_SCALE
    support = constraints.positive
    has_rsample = True
    expands = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args)

    loc = of_base("loc")
    scale = of_base("scale")
    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale**2).exp())

    @property
    def variance(self) -> Tensor:
        square = self.scale**2
        return torch.expm1(square) * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Points of the simplex from a normal vector, by stick breaking."""

    arg_constraints = LOC_SCALE
    support = constraints.simplex
    has_rsample = True
    expands = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc, doc="The means of the normal numbers.")
    scale = property(lambda self: self.base_dist.base_dist.scale, doc="The deviations of the normal numbers.")


class _Half(TransformedDistribution):
    """What a symmetric distribution around zero has on the right."""

    arg_constraints = _SCALE
    support = constraints.nonnegative
    has_rsample = True

    scale = of_base("scale")
    mode = property(lambda self: torch.zeros_like(self.scale))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, log_prob, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """Absolute values of normal numbers."""

    expands = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale**2 * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """Absolute values of Cauchy numbers."""

    expands = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args)

    mean = property(lambda self: self.scale.new_full(self._extended_shape(), math.inf))
    variance = property(lambda self: self.base_dist.variance)


class Gumbel(TransformedDistribution):
    """The largest of many numbers."""

    arg_constraints = LOC_SCALE
    support = constraints.real
    expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        low, high = tiny(self.loc), 1 - epsilon(self.loc)
        base = Uniform(torch.full_like(self.loc, low), torch.full_like(self.loc, high), validate_args=validate_args)
        log = ExpTransform().inv
        negative = AffineTransform(0, -torch.ones_like(self.scale))
        super().__init__(base, [log, negative, log, AffineTransform(self.loc, -self.scale)], validate_args)

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - self._checked(value)) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        new.transforms = [*self.transforms[:3], AffineTransform(new.loc, -new.scale)]


class Weibull(TransformedDistribution):
    """Lifetimes whose hazard goes with a power of age."""

    arg_constraints = each(scale=constraints.positive, concentration=constraints.positive)
    support = constraints.positive
    expands = ("scale", "concentration", "concentration_reciprocal")

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args)

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        new.transforms = [PowerTransform(new.concentration_reciprocal), AffineTransform(0, new.scale)]

    mean = property(lambda self: self.scale * (1 + self.concentration_reciprocal).lgamma().exp())

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        r = self.concentration_reciprocal
        return self.scale**2 * ((1 + 2 * r).lgamma().exp() - (2 * (1 + r).lgamma()).exp())

    def entropy(self) -> Tensor:
        r = self.concentration_reciprocal
        return euler_constant * (1 - r) + (self.scale * r).log() + 1


class Pareto(TransformedDistribution):
    """Numbers above `scale` whose tail goes with a power."""

    arg_constraints = each(alpha=constraints.positive, scale=constraints.positive)
    expands = ("scale", "alpha")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        new.transforms = [ExpTransform(), AffineTransform(0, new.scale)]

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)  # below which it is infinite
        return a * self.scale / (a - 1)

    mode = property(lambda self: self.scale)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class InverseGamma(TransformedDistribution):
    """Reciprocals of gamma numbers."""

    arg_constraints = each(concentration=constraints.positive, rate=constraints.positive)
    support = constraints.positive
    has_rsample = True
    expands = ()

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args)

    concentration = of_base("concentration")
    rate = of_base("rate")
    mode = property(lambda self: self.rate / (self.concentration + 1))
    mean = property(lambda self: torch.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf))

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return torch.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Kumaraswamy(TransformedDistribution):
    """Numbers between 0 and 1, much like the beta distribution's."""

    arg_constraints = each(concentration1=constraints.positive, concentration0=constraints.positive)
    support = constraints.unit_interval
    has_rsample = True
    expands = ("concentration1", "concentration0")

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            torch.full_like(self.concentration0, 0),
            torch.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        super().__init__(base, self._made_by(), validate_args)

    def _made_by(self) -> list[Any]:
        return [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        new.transforms = new._made_by()

    def _moment(self, n: int) -> Tensor:
        b = self.concentration0
        ratio = 1 + n / self.concentration1
        return (b.log() + ratio.lgamma() + b.lgamma() - (ratio + b).lgamma()).exp()

    mean = property(lambda self: self._moment(1))

    # PyTorch's formula takes the logarithm of negative numbers, wherever there is a mode.
    mode = property(lambda self: torch.full_like(self.concentration1, math.nan))
    variance = property(lambda self: self._moment(2) - self.mean.pow(2))

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
