"""Distributions of yes or no, and of counts: Bernoulli, binomial, geometric, Poisson, …"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor
from ..core.values import contiguous_format
from ..operations.pointwise.activations import log_sigmoid
from . import constraints
from .distribution import SCALAR, ByProbsOrLogits, Distribution, ExponentialFamily
from .gamma_family import Gamma
from .library import torch
from .parameters import broadcast_all, clamp_probs, cross_entropy, each, lazy_property, tiny, uniform

BINARY = each(probs=constraints.unit_interval, logits=constraints.real)


class Bernoulli(ByProbsOrLogits, ExponentialFamily):
    """1 with probability `probs`, else 0."""

    arg_constraints = BINARY
    support = constraints.boolean
    has_enumerate_support = True
    expands = ("probs", "logits")
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._settle(validate_args, **self._give(probs, logits))

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan))

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        with no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        return -torch.binary_cross_entropy_with_logits(*broadcast_all(self.logits, value))

    def entropy(self) -> Tensor:
        return torch.binary_cross_entropy_with_logits(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return _counting(self, 2, expand)

    _natural_params = property(lambda self: (torch.logit(self.probs),))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp().log1p()


def _counting(d: Any, count: int, expand: bool) -> Tensor:
    """0, 1, … along a first dimension, for each element of the batch."""
    like = d._param
    values = torch.arange(count, dtype=like.dtype, device=like.device).view(-1, *[1] * len(d._batch_shape))
    return values.expand(-1, *d._batch_shape) if expand else values


class ContinuousBernoulli(ByProbsOrLogits, ExponentialFamily):
    """Numbers between 0 and 1 whose densities go with probs^value (1 - probs)^(1 - value).

    Within `lims`, around one half, where formulas become 0 / 0, Taylor polynomials stand for them.
    """

    arg_constraints = BINARY
    support = constraints.unit_interval
    has_rsample = True
    expands = ("probs", "logits")
    holds = ("_lims",)
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._lims = lims
        given = self._give(probs, logits)
        if probs is not None:
            (probs,) = broadcast_all(probs)
            if validate_args is not None and not constraints.unit_interval.check(probs).all():
                raise ValueError("The parameter probs has invalid values")
            given = {"probs": clamp_probs(probs)}
        self._settle(validate_args, **given)

    def _by_region(self, of_probs: Any, near_half: Tensor) -> Tensor:
        stable = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return torch.where(stable, of_probs(torch.where(stable, self.probs, self._lims[0])), near_half)

    def _log_norm(self) -> Tensor:
        def exact(p: Tensor) -> Tensor:
            return ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()

        x = (self.probs - 0.5) ** 2
        return self._by_region(exact, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        x = self.probs - 0.5
        return self._by_region(
            lambda p: p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()), 0.5 + (1 / 3 + 16 / 45 * x**2) * x
        )

    @property
    def variance(self) -> Tensor:
        x = (self.probs - 0.5) ** 2
        return self._by_region(
            lambda p: p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2,
            1 / 12 - (1 / 15 - 128 / 945 * x) * x,
        )

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        return -cross_entropy(*broadcast_all(self.logits, value)) + self._log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        inside = self._by_region(lambda p: (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1), value)
        return torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        return self._by_region(
            lambda p: ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p()), value
        )

    def entropy(self) -> Tensor:
        log_no, log_yes = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log_no - log_yes) - self._log_norm() - log_no

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        stable = (x <= low) | (x > high)
        kept = torch.where(stable, x, low)
        exact = torch.expm1(kept).abs().log() - kept.abs().log()
        return torch.where(stable, exact, x / 2 + x**2 / 24 - x**4 / 2880)


class Geometric(ByProbsOrLogits, Distribution):
    """The number of failures before the first success."""

    arg_constraints = BINARY
    support = constraints.nonnegative_integer
    expands = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._settle(validate_args, **self._give(probs, logits))
        if self._validate_args and probs is not None:
            value = self.probs
            valid = value > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to be positive but found invalid values:\n{value[~valid]}"
                )

    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        with no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(tiny(self.probs), 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(self._checked(value), self.probs)
        failing = probs.clone(memory_format=contiguous_format)
        failing[(failing == 1) & (value == 0)] = 0
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return cross_entropy(self.logits, self.probs) / self.probs


class _OfTrials(ByProbsOrLogits, Distribution):
    total_count: Tensor

    def _count(self, total_count: Any, probs: Any, logits: Any, validate_args: bool | None) -> None:
        given = self._give(probs, logits)
        total_count, value = broadcast_all(total_count, given[self._given])
        self._settle(validate_args, (), total_count=total_count.type_as(value), **{self._given: value})


class Binomial(_OfTrials):
    """The number of successes in `total_count` trials."""

    arg_constraints = each(total_count=constraints.nonnegative_integer, **BINARY)
    has_enumerate_support = True
    expands = ("total_count", "probs", "logits")

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._count(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value, n, logits = self._checked(value), self.total_count, self.logits
        whole, chosen, rest = (n + 1).lgamma(), (value + 1).lgamma(), (n - value + 1).lgamma()
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2  # with a slope of one half at zero
        norm = n * positive + n * (-logits.abs()).exp().log1p() - whole
        return value * logits - chosen - rest - norm

    def _one_count(self, what: str) -> int:
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return total

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return _counting(self, self._one_count("enumerate_support") + 1, expand)


class NegativeBinomial(_OfTrials):
    """The number of successes before so many failures."""

    arg_constraints = each(
        total_count=constraints.greater_than_eq(0),
        probs=constraints.half_open_interval(0.0, 1.0),
        logits=constraints.real,
    )
    support = constraints.nonnegative_integer
    expands = ("total_count", "probs", "logits")

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._count(total_count, probs, logits, validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        with no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value, n = self._checked(value), self.total_count
        weight = n * log_sigmoid(-self.logits) + value * log_sigmoid(self.logits)
        norm = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return weight - norm.masked_fill(n + value == 0.0, 0.0)


class Poisson(ExponentialFamily):
    """Counts of what happens at a rate."""

    rate: Tensor
    arg_constraints = each(rate=constraints.nonnegative)
    support = constraints.nonnegative_integer
    expands = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._settle(validate_args, rate=rate)

    mean = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    variance = property(lambda self: self.rate)

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        with no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, self._checked(value))
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    _natural_params = property(lambda self: (self.rate.log(),))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp()
