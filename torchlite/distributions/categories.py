"""Distributions over categories, and of how often each comes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor
from ..core.values import Size, contiguous_format, finfo, int64
from . import constraints
from .counts import Binomial
from .distribution import SCALAR, ByProbsOrLogits, Distribution
from .library import torch
from .parameters import broadcast_all, each

OVER_CATEGORIES = each(probs=constraints.simplex, logits=constraints.real_vector)


class Categorical(ByProbsOrLogits, Distribution):
    """A category, as its number."""

    arg_constraints = OVER_CATEGORIES
    has_enumerate_support = True
    is_binary = False
    expands = ("probs", "logits")
    holds = ("_num_events",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        ((name, value),) = self._give(probs, logits).items()
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        normal = value / value.sum(-1, True) if name == "probs" else value - value.logsumexp(-1, True)
        setattr(self, name, normal)
        self._num_events = value.size(-1)
        super().__init__(value.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    def _nan(self) -> Tensor:
        return self.probs.new_full(self._extended_shape(), math.nan)

    mean = property(_nan)
    variance = property(_nan)
    mode = property(lambda self: self.probs.argmax(-1))

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        sample_shape = Size(sample_shape)
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = torch.multinomial(rows, sample_shape.numel(), True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value, log_pmf = torch.broadcast_tensors(self._checked(value).to(int64).unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = torch.arange(self._num_events, dtype=int64, device=self._param.device)
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class OnCategorical(Distribution):
    """A distribution whose parameters are those of a `Categorical` that it holds."""

    arg_constraints = OVER_CATEGORIES
    holds = ("_categorical",)

    logits = property(lambda self: self._categorical.logits)
    probs = property(lambda self: self._categorical.probs)
    param_shape = property(lambda self: self._categorical.param_shape)
    _param = property(lambda self: self._categorical._param)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    def _hold(self, categorical: Categorical, validate_args: bool | None) -> None:
        self._categorical = categorical
        Distribution.__init__(self, categorical.batch_shape, categorical.param_shape[-1:], validate_args=validate_args)


class OneHotCategorical(OnCategorical):
    """A category, as a vector of zeros with a one in its place."""

    support = constraints.one_hot
    has_enumerate_support = True
    expands = ()

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._hold(Categorical(probs, logits), validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def _one_hot(self, category: Tensor) -> Tensor:
        like = self._param
        columns = torch.arange(self._event_shape[0], device=like.device)
        return (category.unsqueeze(-1) == columns).to(like.dtype)

    mode = property(lambda self: self._one_hot(self.probs.argmax(-1)))

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(self._checked(value).max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view(n, *[1] * len(self.batch_shape), n)
        return values.expand(n, *self.batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose draws pass gradients on to the probabilities as if they were these."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OnCategorical):
    """How often each category comes in `total_count` draws."""

    total_count: int
    expands = ()

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        categorical = Categorical(probs, logits)
        self._binomial = Binomial(total_count, probs=categorical.probs)
        self._hold(categorical, validate_args)

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        super()._expand_rest(new, batch_shape)
        new.total_count, new._binomial = self.total_count, self._binomial

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *Size(sample_shape)))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = self._param.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn, dtype=counts.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, self._checked(value))
        logits = logits.clone(memory_format=contiguous_format)
        choices, each = (value.sum(-1) + 1).lgamma(), (value + 1).lgamma().sum(-1)
        logits[(value == 0) & (logits == -math.inf)] = 0
        weight = (logits * value).sum(-1)
        return choices - each + weight

    def entropy(self) -> Tensor:
        n = self.probs.new_full((), self.total_count)
        counts = self._binomial.enumerate_support(False)[1:]
        of_counts = self._binomial.log_prob(counts).exp()
        return n * self._categorical.entropy() - (n + 1).lgamma() + (of_counts * (counts + 1).lgamma()).sum([0, -1])
