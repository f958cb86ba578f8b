"""Distributions made of others: events of several dimensions, transformed draws, mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor
from ..core.values import Size
from . import constraints
from .categories import Categorical
from .distribution import SCALAR, Distribution
from .library import torch
from .parameters import each, sum_rightmost
from .transforms import ComposeTransform, Transform


class Independent(Distribution):
    """Takes some of the last dimensions of a batch as parts of one event."""

    arg_constraints = each()
    expands: tuple[str, ...] = ()

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        n, batch = reinterpreted_batch_ndims, base_distribution.batch_shape
        if n > len(batch):
            raise ValueError(
                f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {n} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = n
        cut = len(batch) - n
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args=validate_args)

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        new.base_dist = self.base_dist.expand(batch_shape + self.event_shape[: self.reinterpreted_batch_ndims])
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims

    has_rsample = property(lambda self: self.base_dist.has_rsample, doc="Whether samples have gradients.")
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @property
    def has_enumerate_support(self) -> bool:
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        n, region = self.reinterpreted_batch_ndims, self.base_dist.support
        return constraints.independent(region, n) if n else region

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of another's draws after some transforms."""

    arg_constraints = each()
    expands: tuple[str, ...] = ()

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        else:
            self.transforms = transforms
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dim = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        if len(shape) < transform.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{transform.domain.event_dim}, but got {shape}."
            )
        expanded = transform.inverse_shape(transform.forward_shape(shape))
        if shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_dim])
        more = transform.domain.event_dim - base_dim
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        self._set_shapes(validate_args)

    def _set_shapes(self, validate_args: bool | None) -> None:
        transform = ComposeTransform(self.transforms)
        base = self.base_dist
        shape = transform.forward_shape(base.batch_shape + base.event_shape)
        event_dim = transform.codomain.event_dim + max(len(base.event_shape) - transform.domain.event_dim, 0)
        cut = len(shape) - event_dim
        Distribution.__init__(self, Size(shape[:cut]), Size(shape[cut:]), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions with their batch expanded to another shape: also of those made of this one."""
        home = next(c for c in type(self).__mro__ if "expands" in c.__dict__)
        new = self._get_checked_instance(home, _instance)
        new.transforms = self.transforms
        shape = ComposeTransform(self.transforms).inverse_shape(Size(batch_shape) + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        self._expand_parameters(home, new, Size(batch_shape))
        self._expand_rest(new, Size(batch_shape))
        new._set_shapes(False)
        new._validate_args = self._validate_args
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample, doc="Whether samples have gradients.")

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        region = self.transforms[-1].codomain
        more = len(self.event_shape) - region.event_dim
        return constraints.independent(region, more) if more > 0 else region

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        with no_grad():
            return self._forth(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        return self._forth(self.base_dist.rsample(sample_shape))

    def _forth(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        event_dim, y = len(self.event_shape), self._checked(value)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(slope, event_dim - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _turned(self, probability: Tensor) -> Tensor:
        """A probability of less, from that of the base; decreasing transforms make it one of more."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forth(self.base_dist.icdf(self._turned(value)))


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last dimension of a batch."""

    arg_constraints = each()
    expands: tuple[str, ...] = ()

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixed, parts = mixture_distribution.batch_shape, component_distribution.batch_shape
        for a, b in zip(reversed(mixed), reversed(parts[:-1])):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                    f"`component_distribution.batch_shape`({parts[:-1]})"
                )
        count, have = mixture_distribution.logits.shape[-1], parts[-1]
        if count is not None and have is not None and count != have:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({have})"
            )
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        self._num_component = count
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(parts[:-1], event, validate_args=validate_args)

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        new.component_distribution = self.component_distribution.expand((*batch_shape, self._num_component))
        new.mixture_distribution = self.mixture_distribution.expand(batch_shape)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    @property
    def _weights(self) -> Tensor:
        """The probabilities of the components, with ones for the dimensions of an event."""
        probs = self.mixture_distribution.probs
        return probs.reshape(*probs.shape, *[1] * self._event_ndims)

    def _average(self, t: Tensor) -> Tensor:
        return (self._weights * t).sum(-1 - self._event_ndims)

    mean = property(lambda self: self._average(self.component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        """The mean of the variances and the variance of the means."""
        away = self.component_distribution.mean - self.mean.unsqueeze(-1 - self._event_ndims)
        return self._average(self.component_distribution.variance) + self._average(away.pow(2.0))

    def _for_each(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._for_each(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        x = self._for_each(self._checked(x))
        of_each = self.component_distribution.log_prob(x)
        return (of_each + torch.log_softmax(self.mixture_distribution.logits, -1)).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        with no_grad():
            batch, events = len(self.batch_shape), self._event_ndims
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            dim = len(Size(sample_shape)) + batch
            index = chosen.reshape(*chosen.shape, *[1] * (events + 1))
            index = index.expand(*chosen.shape, 1, *self.event_shape)
            return drawn.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution!r},\n  {self.component_distribution!r})"
