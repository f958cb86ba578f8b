"""Transposes as attributes: `x.T`, `x.H`, `x.mT`, `x.mH`; and `adjoint`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.declare import publish_python
from ...core.machine import Tensor, dispatch, needs_dispatch, planned
from ...core.values import warn_once
from .orders import permute, transpose


def _whole_transpose(self: Tensor) -> Tensor:
    """The tensor with its dimensions reversed."""
    ndim = self.dim()
    if ndim != 2:
        if ndim:
            warn_once(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
                "will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
            )
        else:
            warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    return permute.apply(self, tuple(range(ndim - 1, -1, -1)))


def _conjugate_transpose(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.dim() > 2 else "")
        )
    if not self.dim():
        warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
        return self.conj()
    return transpose.apply(self, 0, 1).conj()


def _matrix_transpose(self: Tensor) -> Tensor:
    """Each matrix of a batch transposed."""
    if self.dim() == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if not self.dim():
        warn_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
        return self
    return transpose.apply(self, -2, -1)


def _adjoint(name: str, of_numbers: str) -> Callable[[Tensor], Tensor]:
    def adjoint(self: Tensor) -> Tensor:
        """Each matrix of a batch transposed and conjugated."""
        if self.dim() == 1:
            raise RuntimeError(f"{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
        if not self.dim():
            warn_once(of_numbers)
            return self.conj()
        return transpose.apply(self, -2, -1).conj()

    return adjoint


def _attribute(name: str, f: Callable[[Tensor], Tensor], comes_to: Callable[[Tensor], Any] | None = None) -> None:
    def get(self: Tensor) -> Tensor:
        return dispatch(made.__get__, (self,), {}) if needs_dispatch((self,), {}) else f(self)

    get.__name__, get.__doc__ = name, f.__doc__
    getter: Any = planned(lambda args, kwargs: comes_to and comes_to(*args), get)
    getattr(getter, "general", getter).__wrapped__ = get  # where its signature is looked for
    made = property(getter, doc=f.__doc__)
    setattr(Tensor, name, made)


_attribute("T", _whole_transpose, lambda self: (permute, (self, (1, 0))) if self.dim() == 2 else None)
_attribute("H", _conjugate_transpose)
_attribute("mT", _matrix_transpose, lambda self: (transpose, (self, -2, -1)) if self.dim() > 1 else None)
_attribute("mH", _adjoint("tensor.mH", "Tensor.mH is deprecated on 0-D tensors. Consider using x.conj()."))
publish_python(
    "adjoint(Tensor self)",
    _adjoint("tensor.adjoint()", "adjoint() is deprecated on 0-D tensors. Consider using x.conj()."),
)
