"""Jacobians three ways: by finite differences, backward and forward; whole, or along a direction.

The Jacobian of an output y with respect to an input x has a row for each element of x and a column for each element
of y. With respect to a complex x it is that of a real y, ∂y/∂re + i ∂y/∂im, which is what a backward pass gives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..core.machine import Tensor
from ..core.machine.registry import functions as F
from .backward import grad


def basis(x: Tensor) -> Sequence[Tensor]:
    """For each element of `x`, a tensor that is one there and zero elsewhere."""
    return F["eye"](x.numel(), dtype=x.dtype, device=x.device).reshape(x.numel(), *x.shape)


def matrix(lines: Sequence[Tensor | None], x: Tensor, y: Tensor, dim: int) -> Tensor:
    """The Jacobian whose rows (`dim=0`) or columns (`dim=1`) are `lines`; None is a line of zeros."""
    found = y.new_zeros((x.numel(), y.numel()), dtype=y.dtype if dim == 0 and not x.is_complex() else x.dtype)
    for at, line in enumerate(lines):
        if line is not None:
            found.select(dim, at).copy_(line.detach().reshape(-1))
    return found


# ---- finite differences


def slopes(
    evaluate: Callable[[], Sequence[Tensor]], place: Tensor, direction: Any, eps: float, where: str = ""
) -> list[Tensor]:
    """(f(x + ε d) − f(x − ε d)) / 2ε for each output; `place` is the memory of x, or of one of its elements."""
    start = place.clone()

    def at(step: Any) -> list[Tensor]:
        place.copy_(start + step)
        return [y.detach().clone() for y in evaluate()]

    try:
        before, after = at(-eps * direction), at(eps * direction)
    finally:
        place.copy_(start)
    for a, b in zip(before, after, strict=True):
        for what, one, other in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
            if one != other:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by "
                    f"{eps}, but got: {what}s {one} and {other}."
                )
    return [(b - a) / (2 * eps) for a, b in zip(before, after)]


def numerical(evaluate: Callable[[], Sequence[Tensor]], x: Tensor, like: Sequence[Tensor], eps: float) -> list[Tensor]:
    """The Jacobians of all outputs, which are `like` these, with respect to `x`, whose elements are moved in turn."""
    rows = []
    for index in itertools.product(*map(range, x.shape)):
        place, where = x.data[index], f"on index {index} "
        row = slopes(evaluate, place, 1, eps, where)
        if x.is_complex():
            row = [wirtinger(re, im) for re, im in zip(row, slopes(evaluate, place, 1j, eps, where))]
        rows.append(row)
    return [matrix([row[i] for row in rows], x, y, 0) for i, y in enumerate(like)]


def wirtinger(along_real: Tensor, along_imaginary: Tensor) -> Tensor:
    """The gradient of a real output with respect to a complex input, from its slopes along both axes."""
    if along_real.is_complex():
        raise AssertionError("Expected ds_dx to be real-valued, not complex")
    return along_real + 1j * along_imaginary


# ---- backward and forward


def pulled(y: Tensor, xs: Sequence[Tensor], cotangent: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients of `y`, weighted by `cotangent`, with respect to `xs`."""
    return grad(y, xs, cotangent, retain_graph=True, allow_unused=True)


def pushed(
    func: Callable[..., Sequence[Tensor]], inputs: Sequence[Any], tangents: dict[int, Tensor]
) -> list[Tensor | None]:
    """The tangents of the outputs of `func` where the inputs at some places move along `tangents`."""
    from .forward_ad import dual_level, make_dual, unpack_dual

    with dual_level():
        duals = [make_dual(x, tangents[at]) if at in tangents else x for at, x in enumerate(inputs)]
        return [unpack_dual(y).tangent for y in func(*duals)]
