"""Normal vectors, with a covariance matrix of any kind or one of low rank and a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor
from ..core.values import Size
from . import constraints
from .distribution import SCALAR, Distribution
from .library import torch
from .parameters import each, lazy_property, standard_normal

_LOG_2PI = math.log(2 * math.pi)


def apply_to(matrix: Tensor, vector: Tensor) -> Tensor:
    """Batches of matrices times batches of vectors."""
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def squared_length(factor: Tensor, vector: Tensor) -> Tensor:
    """Mahalanobis' distance, squared: xᵀ M⁻¹ x, given the Cholesky factor of M."""
    return _solve_lower(factor, vector.unsqueeze(-1)).pow(2).sum((-2, -1))


def log_diagonal(factor: Tensor) -> Tensor:
    """The sum of the logarithms of the diagonal: half the logarithm of the determinant of what is factored."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _solve_lower(factor: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.solve_triangular(factor, b, upper=False)


def identity(like: Tensor) -> Tensor:
    return torch.eye(like.shape[-1], dtype=like.dtype, device=like.device)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a matrix."""
    factor = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    return _solve_lower(torch.flip(factor, (-2, -1)).mT, identity(precision))


class _Normal(Distribution):
    support = constraints.real_vector
    has_rsample = True

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    def _whole(self, t: Tensor, dims: int) -> Tensor:
        """A parameter that was not broadcast, for the whole batch."""
        return t.expand(self._batch_shape + self._event_shape * dims)


class MultivariateNormal(_Normal):
    """Normal vectors of mean `loc`, with a covariance matrix, its inverse or its Cholesky factor given."""

    arg_constraints = each(
        loc=constraints.real_vector,
        covariance_matrix=constraints.positive_definite,
        precision_matrix=constraints.positive_definite,
        scale_tril=constraints.lower_cholesky,
    )
    expands = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    holds = ("_unbroadcasted_scale_tril",)

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = only_matrix(covariance_matrix, precision_matrix, scale_tril, ValueError)
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(Size(batch), self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._whole(self._unbroadcasted_scale_tril, 2)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._whole(torch.matmul(factor, factor.mT), 2)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._whole(torch.cholesky_inverse(self._unbroadcasted_scale_tril), 2)

    variance = property(lambda self: self._whole(self._unbroadcasted_scale_tril.pow(2).sum(-1), 1))

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        z = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + apply_to(self._unbroadcasted_scale_tril, z)

    def log_prob(self, value: Tensor) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        distance = squared_length(factor, self._checked(value) - self.loc)
        return -(self._event_shape[0] * _LOG_2PI + distance) / 2 - log_diagonal(factor)

    def entropy(self) -> Tensor:
        made = self._event_shape[0] * (1 + _LOG_2PI) / 2 + log_diagonal(self._unbroadcasted_scale_tril)
        return made.expand(self._batch_shape) if self._batch_shape else made


def only_matrix(covariance: Any, precision: Any, factor: Any, error: type[Exception]) -> tuple[str, Tensor]:
    """The name and the value of the one matrix that is given."""
    named = {"covariance_matrix": covariance, "scale_tril": factor, "precision_matrix": precision}
    given = [(name, matrix) for name, matrix in named.items() if matrix is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance matrix, from the matrix given under a name."""
    if name == "scale_tril":
        return matrix
    return torch.linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


class LowRankMultivariateNormal(_Normal):
    """Normal vectors whose covariance is that of `cov_factor` times fewer normal numbers, and a diagonal.

    With W the factor and D the diagonal, inverses and determinants are those of the small "capacitance" I + Wᵀ D⁻¹ W.
    """

    arg_constraints = each(
        loc=constraints.real_vector,
        cov_factor=constraints.independent(constraints.real, 2),
        cov_diag=constraints.independent(constraints.positive, 1),
    )
    expands = ("loc", "cov_factor", "cov_diag")
    holds = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = Size(torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand(batch + event)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch + event)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = torch.linalg.cholesky(identity(self._inner) + self._inner)
        super().__init__(batch, event, validate_args=validate_args)

    @property
    def _weighted(self) -> Tensor:
        """Wᵀ D⁻¹"""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    _inner = property(lambda self: torch.matmul(self._weighted, self._unbroadcasted_cov_factor))

    @lazy_property
    def variance(self) -> Tensor:
        return self._whole(self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag, 1)

    @lazy_property
    def scale_tril(self) -> Tensor:
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        outer = torch.matmul(scaled, scaled.mT)
        return self._whole(root * torch.linalg.cholesky(outer + identity(outer)), 2)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        w = self._unbroadcasted_cov_factor
        return self._whole(torch.matmul(w, w.mT) + self._unbroadcasted_cov_diag.diag_embed(), 2)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        a = _solve_lower(self._capacitance_tril, self._weighted)
        return self._whole(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - torch.matmul(a.mT, a), 2)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        few = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        own = standard_normal(shape, self.loc)
        spread = apply_to(self._unbroadcasted_cov_factor, few)
        return self.loc + spread + self._unbroadcasted_cov_diag.sqrt() * own

    def _log_det(self) -> Tensor:
        return 2 * log_diagonal(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _distance(self, away: Tensor) -> Tensor:
        """Mahalanobis' distance, squared."""
        plain = (away.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        return plain - squared_length(self._capacitance_tril, apply_to(self._weighted, away))

    def log_prob(self, value: Tensor) -> Tensor:
        distance = self._distance(self._checked(value) - self.loc)
        return -(self._event_shape[0] * _LOG_2PI + self._log_det() + distance) / 2

    def entropy(self) -> Tensor:
        made = (self._event_shape[0] * (1 + _LOG_2PI) + self._log_det()) / 2
        return made.expand(self._batch_shape) if self._batch_shape else made
