"""Kullback and Leibler's divergence: E log p - E log q under p, by closed forms for pairs of distributions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.backward import grad
from ..core.machine import Tensor
from ..core.values import warn
from ..operations.pointwise.activations import softplus
from .categories import Categorical, OneHotCategorical
from .composed import Independent, TransformedDistribution
from .counts import Bernoulli, Binomial, ContinuousBernoulli, Geometric, Poisson
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Beta, Dirichlet, Exponential, Gamma
from .library import torch
from .location_scale import Cauchy, Laplace, Normal, Uniform
from .multivariate import LowRankMultivariateNormal, MultivariateNormal, log_diagonal, squared_length
from .parameters import euler_constant, sum_rightmost
from .transformed import Gumbel, HalfNormal, Pareto

if TYPE_CHECKING:
    Divergence = Callable[[Any, Any], Tensor]

_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """A decorator: the function gives divergences between these two classes, and their subclasses."""
    for side, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type) and issubclass(kind, Distribution):
            raise TypeError(f"Expected {side} to be a Distribution subclass but got {kind}")

    def register(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _found.cache_clear()
        return function

    return register


@functools.cache
def _found(type_p: type, type_q: type) -> Divergence | None:
    """The function of the nearest registered classes."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None

    def distance(pair: tuple[type, type], order: Callable[[Any], Any]) -> Any:
        places = type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])
        return order(places)

    by_p = min(matches, key=lambda pair: distance(pair, tuple))
    by_q = min(matches, key=lambda pair: distance(pair, lambda places: places[::-1]))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        p, _q = [c.__name__ for c in by_p]
        warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({p}, "
            f"{by_q[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of q from p, for each element of the batch."""
    function = _found(type(p), type(q))  # type: ignore[arg-type]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return function(p, q)


def _register_formulas(formulas: dict[tuple[type, type], Callable[[Any, Any], Tensor]]) -> None:
    for pair, formula in formulas.items():
        register_kl(*pair)(formula)


def _xlogx(x: Tensor) -> Tensor:
    return torch.xlogy(x, x)


def _unless(impossible: Tensor, divergence: Tensor) -> Tensor:
    """Infinity where p is possible and q is not."""
    return divergence.masked_fill(impossible, math.inf)


# ---- where p reaches beyond q


_NARROWER: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
for _wide, _all_narrow in _NARROWER.items():
    for _narrow in _all_narrow:
        register_kl(_wide, _narrow)(lambda p, q: torch.full_like(p.mean, math.inf))


# ---- in general


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Tensor:
    """Bregman's divergence of the log normaliser between the natural parameters."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot" + " " * 29 + "be computed using "
            "Bregman divergences"
        )
    p_params = [t.detach().requires_grad_() for t in p._natural_params]
    at_p = p._log_normalizer(*p_params)
    slopes = grad(at_p.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - at_p
    for a, b, slope in zip(p_params, q._natural_params, slopes):
        result = result - sum_rightmost((b - a) * slope, len(q.event_shape))
    return result


@register_kl(Independent, Independent)
def _of_independents(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _of_transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def _of_bases(p: Any, q: Any) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


# ---- counts and categories


@register_kl(Bernoulli, Bernoulli)
def _(p: Any, q: Any) -> Tensor:
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    yes = _unless(q.probs == 0, yes).masked_fill(p.probs == 0, 0)
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    no = _unless(q.probs == 1, no).masked_fill(p.probs == 1, 0)
    return yes + no


@register_kl(Binomial, Binomial)
def _(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return _unless(p.total_count > q.total_count, p.total_count * each)


@register_kl(Categorical, Categorical)
def _(p: Any, q: Any) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    each[(q.probs == 0).expand_as(each)] = math.inf
    each[(p.probs == 0).expand_as(each)] = 0
    return each.sum(-1)


_register_formulas({
    (Bernoulli, Poisson): lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate),
    (OneHotCategorical, OneHotCategorical): lambda p, q: kl_divergence(p._categorical, q._categorical),
    (Geometric, Geometric): lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits,
    (Poisson, Poisson): lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
})


# ---- q is normal: what counts is p's entropy, mean and variance


def _from_normal(p: Any, q: Any) -> Tensor:
    """E log q from the mean and the variance of p."""
    square = p.variance + (p.mean - q.loc) ** 2
    return -p.entropy() + (2 * math.pi * q.scale**2).log() / 2 + square / (2 * q.scale**2)


for _any in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_any, Normal)(_from_normal)


@register_kl(Normal, Normal)
def _(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


_register_formulas({(Pareto, Normal): lambda p, q: _unless(p.alpha <= 2, _from_normal(p, q))})


# ---- q is exponential or gamma: what counts is p's entropy, its mean, and that of its logarithm


def _from_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


for _any in (Beta, ContinuousBernoulli, Gamma):
    register_kl(_any, Exponential)(_from_exponential)


@register_kl(Exponential, Exponential)
def _(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


def _from_gamma(p: Any, q: Any, mean_log: Tensor) -> Tensor:
    a = q.concentration
    return -p.entropy() + a.lgamma() - a * q.rate.log() - (a - 1) * mean_log + q.rate * p.mean


def _mean_log(p: Uniform) -> Tensor:
    width = p.high - p.low
    return (_xlogx(p.high) - _xlogx(p.low) - width) / width


@register_kl(Gamma, Gamma)
def _(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return b * (p.rate / q.rate).log() + shapes + (q.rate - p.rate) * (a / p.rate)


_register_formulas({
    (Pareto, Exponential): lambda p, q: _unless(p.alpha <= 1, _from_exponential(p, q)),
    (Uniform, Exponential): lambda p, q: _unless(p.low < 0, _from_exponential(p, q)),
    (Beta, Gamma): lambda p, q: (
        _from_gamma(p, q, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma())
    ),
    (Exponential, Gamma): lambda p, q: _from_gamma(p, q, -p.rate.log() - euler_constant),
    (Pareto, Gamma): lambda p, q: _unless(p.alpha <= 1, _from_gamma(p, q, p.scale.log() + p.alpha.reciprocal())),
    (Uniform, Gamma): lambda p, q: _unless(p.low < 0, _from_gamma(p, q, _mean_log(p))),
})


# ---- q is Gumbel's: what counts is E exp(-x / scale)


def _from_gumbel(p: Any, q: Any, mean_exp: Tensor) -> Tensor:
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + mean_exp


@register_kl(Exponential, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    product = p.rate * q.scale
    return _from_gumbel(p, q, (q.loc / q.scale).exp() * product / (product + 1))


@register_kl(Gumbel, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    return _from_gumbel(p, q, ((q.loc - p.loc) / q.scale + (1 + ratio).lgamma()).exp())


@register_kl(Uniform, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return _from_gumbel(p, q, ((-low).exp() - (-high).exp()) * q.scale / (p.high - p.low))


_register_formulas({
    (Gamma, Gumbel): lambda p, q: (
        _from_gumbel(p, q, (q.loc / q.scale).exp() * (1 + 1 / (p.rate * q.scale)).pow(-p.concentration))
    ),
    (Normal, Gumbel): lambda p, q: (
        _from_gumbel(p, q, ((q.loc - p.loc) / q.scale + (p.scale / q.scale).pow(2) / 2).exp())
    ),
})


# ---- q lies between 0 and 1


def _from_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_norm()


for _any in (Beta, ContinuousBernoulli):
    register_kl(_any, ContinuousBernoulli)(_from_continuous_bernoulli)


@register_kl(Uniform, ContinuousBernoulli)
def _(p: Any, q: Any) -> Tensor:
    return _unless(
        (p.high >= 1) | (p.low <= 0), _from_continuous_bernoulli(p, q)
    )  # open at both ends, as PyTorch has it


@register_kl(Beta, Beta)
def _(p: Any, q: Any) -> Tensor:
    of_p, of_q = [each.concentration1 + each.concentration0 for each in (p, q)]
    norm_q = q.concentration1.lgamma() + q.concentration0.lgamma() + of_p.lgamma()
    norm_p = p.concentration1.lgamma() + p.concentration0.lgamma() + of_q.lgamma()
    first = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    second = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    both = (of_q - of_p) * of_p.digamma()
    return norm_q - norm_p + first + second + both


@register_kl(Uniform, Beta)
def _(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    width = p.high - p.low
    mean_log_rest = (_xlogx(1 - p.low) - _xlogx(1 - p.high) - width) / width
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    divergence = norm - width.log() - (a - 1) * _mean_log(p) - (b - 1) * mean_log_rest
    return _unless((p.high > 1) | (p.low < 0), divergence)


@register_kl(Dirichlet, Dirichlet)
def _(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


# ---- q is uniform, Pareto's, Laplace's, Cauchy's


def _from_uniform(p: Any, q: Any) -> Tensor:
    return -p.entropy() + (q.high - q.low).log()


@register_kl(Pareto, Pareto)
def _(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    return _unless(p.scale < q.scale, q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1)


@register_kl(Uniform, Pareto)
def _(p: Any, q: Any) -> Tensor:
    divergence = _mean_log(p) * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * (p.high - p.low)).log()
    return _unless(p.low < q.scale, divergence)


@register_kl(Laplace, Laplace)
def _(p: Any, q: Any) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(Normal, Laplace)
def _(p: Any, q: Any) -> Tensor:
    apart = p.loc - q.loc
    z = apart / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * (-(z**2) / 2).exp() + apart * torch.erf(z / math.sqrt(2))
    return -p.entropy() + (2 * q.scale).log() + mean_distance / q.scale


_register_formulas({
    (Beta, Uniform): lambda p, q: _unless((q.low > 0) | (q.high < 1), _from_uniform(p, q)),
    (ContinuousBernoulli, Uniform): lambda p, q: _unless((q.low >= 0) | (q.high <= 1), _from_uniform(p, q)),
    (Uniform, Uniform): lambda p, q: (
        _unless((q.low > p.low) | (q.high < p.high), ((q.high - q.low) / (p.high - p.low)).log())
    ),
    (Cauchy, Cauchy): lambda p, q: (
        ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()
    ),
})


# ---- normal vectors


def _check_events(names: str, p: Any, q: Any) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {names} with different event shapes cannot be computed")


def _trace(factor: Tensor, root: Tensor) -> Tensor:
    """The trace of M⁻¹ V, given the Cholesky factor of M and a root of V."""
    return torch.linalg.solve_triangular(factor, root, upper=False).pow(2).sum((-2, -1))


def _trace_by(q: LowRankMultivariateNormal, root: Tensor) -> Tensor:
    """The same for a matrix of low rank."""
    plain = (root.pow(2) / q._unbroadcasted_cov_diag.unsqueeze(-1)).sum((-2, -1))
    return plain - _trace(q._capacitance_tril, torch.matmul(q._weighted, root))


def _roots(p: LowRankMultivariateNormal) -> tuple[Tensor, Tensor]:
    """Two matrices whose squares add up to the covariance."""
    return p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()


def _log_det(d: Any) -> Tensor:
    if isinstance(d, LowRankMultivariateNormal):
        return d._log_det()
    return 2 * log_diagonal(d._unbroadcasted_scale_tril)


def _of_normals(names: str) -> Divergence:
    def divergence(p: Any, q: Any) -> Tensor:
        _check_events(names, p, q)
        roots = _roots(p) if isinstance(p, LowRankMultivariateNormal) else (p._unbroadcasted_scale_tril,)
        if isinstance(q, LowRankMultivariateNormal):
            trace = sum(_trace_by(q, root) for root in roots)
            distance = q._distance(q.loc - p.loc)
        else:
            factor = q._unbroadcasted_scale_tril
            trace = sum(_trace(factor, root) for root in roots)
            distance = squared_length(factor, q.loc - p.loc)
        return (_log_det(q) - _log_det(p) + trace + distance - p.event_shape[0]) / 2

    return divergence


_LOW, _FULL = LowRankMultivariateNormal, MultivariateNormal
register_kl(_LOW, _LOW)(_of_normals("Low Rank Multivariate Normals"))
register_kl(_FULL, _LOW)(_of_normals("(Low Rank) Multivariate Normals"))
register_kl(_LOW, _FULL)(_of_normals("(Low Rank) Multivariate Normals"))
register_kl(_FULL, _FULL)(_of_normals("Multivariate Normals"))

__all__ = ["register_kl", "kl_divergence"]
