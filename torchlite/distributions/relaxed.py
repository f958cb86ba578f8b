"""Continuous relaxations of distributions over two or more categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor
from . import constraints
from .categories import OVER_CATEGORIES, Categorical, OnCategorical
from .counts import BINARY
from .distribution import SCALAR, ByProbsOrLogits, Distribution
from .library import torch
from .parameters import broadcast_all, clamp_probs, uniform
from .transformed import TransformedDistribution, of_base
from .transforms import ExpTransform, SigmoidTransform


class LogitRelaxedBernoulli(ByProbsOrLogits, Distribution):
    """Logits of the numbers that `RelaxedBernoulli` draws."""

    arg_constraints = BINARY
    support = constraints.real
    expands = ("probs", "logits")
    holds = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._settle(validate_args, **self._give(probs, logits))

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(uniform(shape, probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class _Relaxed(TransformedDistribution):
    has_rsample = True
    temperature = of_base("temperature")
    logits = of_base("logits")
    probs = of_base("probs")


class RelaxedBernoulli(_Relaxed):
    """Numbers between 0 and 1 that come close to a Bernoulli distribution's as the temperature falls."""

    arg_constraints = BINARY
    support = constraints.unit_interval
    expands = ()

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(OnCategorical):
    """Logarithms of the points that `RelaxedOneHotCategorical` draws."""

    support = constraints.real_vector
    has_rsample = True
    expands = ()
    holds = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._hold(Categorical(probs, logits), validate_args)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        u = clamp_probs(uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits + -(-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, self._checked(value))
        scale = torch.full_like(self.temperature, float(n)).lgamma() + self.temperature.log() * (n - 1)
        score = logits - value * self.temperature
        return (score - score.logsumexp(-1, True)).sum(-1) + scale


class RelaxedOneHotCategorical(_Relaxed):
    """Points of the simplex that come close to one-hot vectors as the temperature falls."""

    arg_constraints = OVER_CATEGORIES
    support = constraints.simplex
    expands = ()

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args)
