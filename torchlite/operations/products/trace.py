"""The sum of a matrix's diagonal."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Op, describe, publish
from ...core.machine import Tensor, functions
from ...core.values import Array, Namespace, dt, errors
from ...kernels.summing import widened
from ..formulas import options, zeros
from ..shapes.shape import Ints


def _check_trace(self: Tensor) -> None:
    if self.dtype is dt.bool_:
        raise errors.not_implemented_for("trace", dt.bool_)
    if self.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.dim()}")


def _trace(xp: Namespace, self: Array) -> Any:
    diagonal = xp.diagonal(self)
    if self.dtype.kind in "biu":
        return diagonal.sum(dtype=xp.int64)
    return widened(diagonal).sum().astype(self.dtype)


def _trace_vjp(g: Tensor, self_shape: Ints) -> Tensor:
    """The gradient in each place of the diagonal."""
    rows, step = self_shape[0], self_shape[1] + 1
    nothing = zeros(g, [math.prod(self_shape)])
    places = functions["arange"](0, min(rows, step - 1) * step, step, **options(g) | {"dtype": dt.int64})
    return nothing.index_fill(0, places, g).view(self_shape)


trace = Op(
    "trace(Tensor self)", _trace,
    {"self": _trace_vjp},
    check=_check_trace,
    linear=True, batch=lambda self: self.diagonal().sum(),
)  # fmt: skip
publish(trace)

describe(trace="The sum of a matrix's diagonal.")
