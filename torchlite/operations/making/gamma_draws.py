"""Draws of the gamma family, which can be differentiated with respect to their parameters."""

from __future__ import annotations

from typing import Any

from ...core.declare import Elementwise, publish
from ...core.machine import NOT_IMPLEMENTED, Generator, Tensor
from ...core.values import Backend
from ..pointwise import special_kernels as kernels
from ..pointwise.special_functions import PRECISE
from ..vocabulary import undifferentiable
from .draws import array_drawn, stream_of
from .parametric_draws import FromParameters, sampler

_unknown = undifferentiable("the derivative for '_standard_gamma_grad' is not implemented.", NotImplementedError)
_gamma_shift = Elementwise(
    "_standard_gamma_grad(Tensor self, Tensor output)", kernels.gamma_shift,
    dict.fromkeys(("self", "output"), _unknown), dtypes=PRECISE, label="_standard_gamma_grad_cpu",
)  # fmt: skip
_standard_gamma = sampler(
    "_standard_gamma(Tensor self, Generator? generator=None)",
    lambda stream, alpha: stream.standard_gamma(alpha),
    {"self": lambda g, self, result: g * _gamma_shift.apply(self, result)},
)

_unknown = undifferentiable("derivative for aten::_dirichlet_grad is not implemented")
_share_shift = Elementwise(
    "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total)",
    lambda xp, x, alpha, total: kernels.beta_shift(xp, x, alpha, total - alpha),
    dict.fromkeys(("x", "alpha", "total"), _unknown),
    dtypes=PRECISE, label="_dirichlet_grad_cpu", node=NOT_IMPLEMENTED,
)  # fmt: skip


def _dirichlet(backend: Backend, alpha: Any, generator: Generator | None) -> Any:
    def draw() -> Any:
        return stream_of(generator, backend).dirichlet(backend.to_host(alpha))

    return array_drawn(draw, alpha.shape, alpha.dtype, backend)


def dirichlet_vjp(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """More of one concentration moves its own share, and the others in proportion."""
    total = self.sum(-1, True).expand(self.shape)
    return _share_shift.apply(result, self, total) * (g - (g * result).sum(-1, True))


_sample_dirichlet = FromParameters(
    "_sample_dirichlet(Tensor self, Generator? generator=None)", _dirichlet, {"self": dirichlet_vjp}
)
for _op in (_gamma_shift, _standard_gamma, _share_shift, _sample_dirichlet):
    publish(_op, method=False)
