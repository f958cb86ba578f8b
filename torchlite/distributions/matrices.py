"""Distributions of matrices: of covariances (Wishart), and of Cholesky factors of correlations (LKJ)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Number
from typing import Any

from ..core.machine import Tensor
from ..core.values import Size, warn
from . import constraints
from .distribution import SCALAR, Distribution, ExponentialFamily
from .gamma_family import Beta, Chi2
from .library import torch
from .multivariate import factor_of, log_diagonal, only_matrix
from .parameters import broadcast_all, each, lazy_property, tiny


def _sum_of_digammas(x: Tensor, p: int) -> Tensor:
    """The derivative of the multivariate gamma function's logarithm."""
    steps = torch.arange(p, dtype=x.dtype, device=x.device) / 2
    return torch.digamma(x.unsqueeze(-1) - steps.expand((*x.shape, -1))).sum(-1)


class Wishart(ExponentialFamily):
    """Sums of `df` outer products of normal vectors, with the covariance, its inverse or its Cholesky factor given."""

    support = constraints.positive_definite
    has_rsample = True
    expands = ("df", "covariance_matrix", "precision_matrix", "scale_tril")
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name, matrix = only_matrix(covariance_matrix, precision_matrix, scale_tril, AssertionError)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, Number):
            batch = matrix.shape[:-2]
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch)
        event = matrix.shape[-2:]
        if self.df.le(event[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}.")
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        super().__init__(Size(batch), event, validate_args=validate_args)
        if self.df.lt(event[-1]).any():
            warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        self._batch_dims = [-(x + 1) for x in range(len(self._batch_shape))]
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        self._dist_chi2 = self._chi2_of_diagonal(self._batch_shape)

    def _chi2_of_diagonal(self, batch: Size) -> Chi2:
        n = self._event_shape[-1]
        steps = torch.arange(n, dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.expand(batch).unsqueeze(-1) - steps.expand((*batch, -1)))

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._batch_dims = [-(x + 1) for x in range(len(batch_shape))]
        new._dist_chi2 = self._chi2_of_diagonal(batch_shape)

    def _whole(self, t: Tensor) -> Tensor:
        return t.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._whole(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._whole(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _df(self, dims: int) -> Tensor:
        return self.df.reshape(*self.df.shape, *[1] * dims)

    mean = property(lambda self: self._df(2) * self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor.reshape(*factor.shape, 1, 1) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._df(2) * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett(self, sample_shape: Any) -> Tensor:
        """Bartlett's decomposition: a triangle of normal numbers under a diagonal of chi numbers."""
        n = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).clamp(min=tiny(self.df)).sqrt().diag_embed()
        below = torch.randn(
            (*self._extended_shape(sample_shape)[:-2], n * (n - 1) // 2), dtype=self.df.dtype, device=self.df.device
        )
        rows, columns = torch.tril_indices(n, n, -1)
        noise = diagonal.clone()
        noise[..., rows, columns] = below
        chol = self._unbroadcasted_scale_tril @ noise
        return chol @ chol.mT

    def rsample(self, sample_shape: Sequence[int] = SCALAR, max_try_correction: int | None = None) -> Tensor:
        """Draws; where one is singular by rounding it is drawn again, so many times at most."""
        if max_try_correction is None:
            max_try_correction = 10
        sample_shape = Size(sample_shape)
        sample = self._bartlett(sample_shape)
        singular = self.support.check(sample)  # PyTorch's streams have all the good ones drawn again, with its warning
        if self._batch_shape:
            singular = singular.amax(self._batch_dims)
        if singular.any():
            warn("Singular sample detected.")
            for _ in range(max_try_correction):
                again = self._bartlett(singular[singular].shape)
                sample[singular] = again
                still = ~self.support.check(again)
                if self._batch_shape:
                    still = still.amax(self._batch_dims)
                singular[singular.clone()] = still
                if not singular.any():
                    break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        nu, p = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        constant = -nu * (p * math.log(2) / 2 + log_diagonal(factor)) - torch.mvlgamma(nu / 2, p)
        trace = torch.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return constant + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        log_det = p * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)
        digammas = _sum_of_digammas(nu / 2, p)
        return (p + 1) * log_det + torch.mvlgamma(nu / 2, p) - (nu - p - 1) / 2 * digammas + nu * p / 2

    _natural_params = property(lambda self: (-self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        nu_half = y + (p + 1) / 2
        return nu_half * (-torch.linalg.slogdet(-2 * x).logabsdet + p * math.log(2)) + torch.mvlgamma(nu_half, p)


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices: densities go with determinant^(concentration - 1)."""

    concentration: Tensor
    arg_constraints = each(concentration=constraints.positive)
    support = constraints.corr_cholesky
    expands = ("concentration",)

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (concentration,) = broadcast_all(concentration)
        # The "onion" puts a row upon the other: its squared length below the diagonal is a beta number.
        steps = torch.arange(dim - 1, dtype=concentration.dtype, device=concentration.device)
        steps = torch.cat([steps.new_zeros((1,)), steps])
        marginal = concentration + 0.5 * (dim - 2)
        self._beta = Beta(steps + 0.5, marginal.unsqueeze(-1) - 0.5 * steps)
        self._settle(validate_args, (dim, dim), concentration=concentration)

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        normal = torch.randn(shape, dtype=y.dtype, device=y.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)  # the first row has nothing below the diagonal
        below = y.sqrt() * direction
        diagonal = (1 - (below**2).sum(-1)).clamp(min=tiny(below)).sqrt()
        return below + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        n = self.dim
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, n + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + n - order
        alpha = self.concentration + 0.5 * (n - 1)
        norm = 0.5 * (n - 1) * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n - 1) - alpha.lgamma() * (n - 1)
        return (order * diagonal.log()).sum(-1) - norm
