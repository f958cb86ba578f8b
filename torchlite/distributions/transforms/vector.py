"""Transforms of vectors and matrices: to the simplex, to Cholesky factors, and of parts that are transformed apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.machine import Tensor
from ...operations.pointwise.activations import softplus
from .. import constraints
from ..library import torch
from ..parameters import epsilon, sum_rightmost, tiny, tril_matrix_to_vec, vec_to_tril_matrix
from .transform import Transform


class _Fixed(Transform):
    """A transform without parameters: all of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)


def _at_least(shape: Any, dims: int) -> Any:
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")
    return shape


# ---- to the simplex


class SoftmaxTransform(_Fixed):
    """y goes with eˣ. Its inverse is that of x up to a constant."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        return _at_least(shape, 1)

    inverse_shape = forward_shape


class StickBreakingTransform(_Fixed):
    """Breaks off one share after the other, each a part of what is left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _centred(x: Tensor) -> Tensor:
        """The logits of the parts: a vector of zeros breaks the stick evenly."""
        n = x.shape[-1]
        return x - torch.arange(n, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        part = self._centred(x).sigmoid()
        part = part.clamp(min=tiny(part), max=1 - epsilon(part))
        one = part.new_ones((*part.shape[:-1], 1))
        return torch.cat([part, one], -1) * torch.cat([one, (1 - part).cumprod(-1)], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        share = y[..., :-1]
        left = (1 - share.cumsum(-1)).clamp(min=tiny(y))
        n = share.shape[-1]
        return share.log() - left.log() + torch.arange(n, 0, -1, dtype=y.dtype, device=y.device).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = self._centred(x)
        return (-x - softplus(-x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> tuple[Any, ...]:
        return (*_at_least(shape, 1)[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> tuple[Any, ...]:
        return (*_at_least(shape, 1)[:-1], shape[-1] - 1)


# ---- to Cholesky factors


class LowerCholeskyTransform(_Fixed):
    """The lower triangle, with the exponentials of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Fixed):
    """The same, times its transpose."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """From vectors to Cholesky factors of correlations: tanh x breaks off one part of a row's length after another."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = torch.tanh(x)
        x = x.clamp(min=epsilon(x) - 1, max=1 - epsilon(x))
        r = vec_to_tril_matrix(x, -1)
        square = r**2
        left = (1 - square).sqrt().cumprod(-1)
        r = r + torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * _shifted(left[..., :-1])

    def _inverse(self, y: Tensor) -> Tensor:
        left = _shifted((1 - (y * y).cumsum(-1))[..., :-1])
        below = tril_matrix_to_vec(y, -1)
        t = below / tril_matrix_to_vec(left, -1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        of_breaking = tril_matrix_to_vec(left, -2).log().sum(-1) / 2
        of_tanh = -2 * (x + softplus(-2 * x) - 0.6931471805599453).sum(-1)
        return of_breaking + of_tanh

    def forward_shape(self, shape: Any) -> tuple[Any, ...]:
        count = _at_least(shape, 1)[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> tuple[Any, ...]:
        _at_least(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        n = shape[-1]
        return (*shape[:-2], n * (n - 1) // 2)


def _shifted(left: Tensor) -> Tensor:
    """One column to the right, with ones in the first."""
    return torch.cat([left.new_ones((*left.shape[:-1], 1)), left], -1)


# ---- parts that are transformed apart


class _Apart(Transform):
    """A transform for each part along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        assert all(isinstance(t, Transform) for t in tseq)
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim = dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms), doc="Whether it has an inverse.")

    def _parts(self, value: Tensor) -> Any:
        raise NotImplementedError

    def _joined(self, parts: Sequence[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([t(part) for t, part in zip(self.transforms, self._parts(x))])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([t.inv(part) for t, part in zip(self.transforms, self._parts(y))])

    def _slopes(self, x: Tensor, y: Tensor) -> list[Tensor]:
        triples = zip(self.transforms, self._parts(x), self._parts(y))
        return [t.log_abs_det_jacobian(before, after) for t, before, after in triples]


class CatTransform(_Apart):
    """Transforms for stretches of a dimension, of the lengths given."""

    made_of = ("transforms", "dim", "lengths")

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.transforms)

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))
    length = property(lambda self: sum(self.lengths), doc="How long the parts are together.")

    def _parts(self, value: Tensor) -> Any:
        assert -value.dim() <= self.dim < value.dim() and value.size(self.dim) == self.length
        return value.split(self.lengths, self.dim)

    def _joined(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._slopes(x, y))
        slopes = [sum_rightmost(slope, max(self.event_dim - t.event_dim, 0)) for t, slope in pairs]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return torch.cat(slopes, dim) if dim < 0 else sum(slopes[1:], slopes[0])

    domain = constraints.dependent_property(
        lambda self: constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)
    )
    codomain = constraints.dependent_property(
        lambda self: constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)
    )


class StackTransform(_Apart):
    """A transform for each place along a dimension."""

    made_of = ("transforms", "dim")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _parts(self, value: Tensor) -> Any:
        assert -value.dim() <= self.dim < value.dim() and value.size(self.dim) == len(self.transforms)
        return value.unbind(self.dim)

    def _joined(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self._joined(self._slopes(x, y))

    domain = constraints.dependent_property(
        lambda self: constraints.stack([t.domain for t in self.transforms], self.dim)
    )
    codomain = constraints.dependent_property(
        lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim)
    )
