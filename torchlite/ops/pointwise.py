"""Elementwise arithmetic and functions."""

from __future__ import annotations

from typing import Any

from ..core import dtype as dt
from ..core.elementwise import Binary, Scaled, Unary
from ..core.publish import publish


def conj(value: Any) -> Any:
    """The conjugate of a tensor or number; what is real comes back as it is."""
    if isinstance(value, complex):
        return value.conjugate()
    return value.conj() if value.__class__ not in (int, float, bool) and value.dtype.category == dt.COMPLEX else value


add = Scaled("add", "add", (lambda g: g, lambda g, alpha: g if alpha == 1 else g * conj(alpha)))
publish(add, forms="function method inplace operator:__add__ operator:__radd__ operator:__iadd__")
mul = Binary("mul", "multiply", (lambda g, other: g * conj(other), lambda g, self: g * conj(self)))
publish(mul, forms="function method inplace operator:__mul__ operator:__rmul__ operator:__imul__")
publish(mul, names="multiply", forms="function method inplace")
relu = Unary("relu", lambda xp, x: xp.maximum(x, 0), lambda g, result: g * (result > 0))
gt = Binary("gt", "greater", result="bool")
publish(gt, forms="function method operator:__gt__")
publish(relu)

exp = Unary("exp", "exp", lambda g, result: g * conj(result), result="float")
publish(exp, forms="function method inplace")
