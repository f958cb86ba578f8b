"""Weights that stay orthogonal, or of a certain norm."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ... import linalg
from ...autograd.grad_mode import no_grad
from ...core.machine import Tensor, functions
from ...core.values import contiguous_format, finfo, shown_in
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from . import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _OrthMaps(Enum):
    matrix_exp = "matrix_exp"
    cayley = "cayley"
    householder = "householder"


def _nearest_by_columns(A: Tensor) -> Tensor:
    """The orthonormal columns that Gram and Schmidt would find."""
    reflections, tau = functions["geqrf"](A)
    Q = linalg.householder_product(reflections, tau)
    return Q.mul_(reflections.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2))


def _is_orthogonal(Q: Tensor) -> bool:
    n, k = Q.size(-2), Q.size(-1)
    one = functions["eye"](k, dtype=Q.dtype, device=Q.device)
    return functions["allclose"](Q.mH @ Q, one, atol=10.0 * n * finfo(Q.dtype).eps)


@shown_in("torch.nn.utils.parametrizations")
class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows where it is wide, from the triangle below its diagonal.

    With trivialization, that triangle is zero at first and tells how to turn a matrix, `base`, which is orthogonal.
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        Q = self._reflected(X) if self.orthogonal_map is _OrthMaps.householder else self._turned(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _turned(self, X: Tensor) -> Tensor:
        """The rotation that a skew matrix makes."""
        n, k = X.size(-2), X.size(-1)
        X = X.tril()
        if n != k:
            X = functions["cat"]([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            Q = linalg.matrix_exp(A)
        else:
            one = functions["eye"](n, dtype=A.dtype, device=A.device)
            Q = linalg.solve(one - 0.5 * A, one + 0.5 * A)
        return Q if n == k else Q[..., :k]

    def _reflected(self, X: Tensor) -> Tensor:
        """The product of reflections at the columns; the signs on the diagonal turn columns round."""
        A = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        return linalg.householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        tall = Q.mT if Q.size(-2) < Q.size(-1) else Q
        if not hasattr(self, "base"):
            return self._as_reflections(tall).mT if tall is not Q else self._as_reflections(tall)
        n, k = tall.size(-2), tall.size(-1)
        if n != k:
            others = functions["randn"](*tall.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            self.base = _nearest_by_columns(functions["cat"]([tall, others], dim=-1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _nearest_by_columns(tall)
        unturned = functions["zeros_like"](Q)
        unturned.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return unturned

    def _as_reflections(self, Q: Tensor) -> Tensor:
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        A, tau = functions["geqrf"](Q)
        signs = A.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        signs[tau == 0.0] *= -1
        return A


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight orthogonal: by "matrix_exp", "cayley" or "householder"."""
    weight = _tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


def _tensor(module: Module, name: str) -> Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


@shown_in("torch.nn.utils.parametrizations")
class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return functions["_weight_norm"](weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return functions["norm_except_dim"](weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn the lengths and the directions of a weight's slices along `dim` (of all, for None) apart."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_old_names(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


@shown_in("torch.nn.utils.parametrizations")
class _SpectralNorm(Module):
    """A weight over its largest singular value, which a few steps of power iteration follow."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            drawn = [matrix.new_empty(size).normal_(0, 1) for size in matrix.size()]
            for name, vector in zip(("_u", "_v"), drawn):
                self.register_buffer(name, F.normalize(vector, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return (weight if self.dim == 0 else weight.movedim(self.dim, 0)).flatten(1)

    @no_grad()
    def _iterate(self, matrix: Tensor, times: int) -> None:
        for _ in range(times):
            F.normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)
            F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # The buffers are written to again before backward may want them.
        u, v = [t.clone(memory_format=contiguous_format) for t in (self._u, self._v)]
        return weight / functions["vdot"](u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight, taken as a matrix with `dim` for its rows, by its largest singular value."""
    weight = _tensor(module, name)
    if dim is None:
        dim = int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
