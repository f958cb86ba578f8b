"""torch.signal.windows: weights that fade out towards both ends.

Each window is a formula for the weights at the places k = 0, 1, …, which end at `last`: the last place of a symmetric
window; the place after it of a periodic one (`sym=False`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..core.machine import Tensor, functions
from ..core.values import dt, strided, type_name
from ..core.values.device import device
from ..core.values.layout import layout

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def _window(formula: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The public function: a window's length `M`, the formula's own parameters by name, and how tensors are made."""
    name = formula.__name__

    @functools.wraps(formula)
    def window(
        M: int, *, sym: bool = True, dtype: dt.dtype | None = None, layout: layout = strided,
        device: device | None = None, requires_grad: bool = False, **own: Any,
    ) -> Tensor:  # fmt: skip
        if not hasattr(M, "__index__"):
            raise TypeError(f"linspace() received an invalid combination of arguments - got (steps={type_name(M)})")
        if not isinstance(requires_grad, bool):
            got = type_name(requires_grad)
            raise TypeError(f"linspace(): argument 'requires_grad' must be bool, not {got}")
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        dtype = dt.get_default_dtype() if dtype is None else dtype
        if dtype not in (dt.float32, dt.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        options: dict[str, Any] = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        last = M - 1 if sym else M
        if M < 2:
            formula(functions["ones"](0), 1, sym, **own)  # which sees to the parameters
            return functions["ones"](M, **options)
        return formula(functions["arange"](M, **options), last, sym, **own)

    del window.__wrapped__
    return window


def _check_positive(what: str, value: float) -> None:
    if value <= 0:
        raise ValueError(f"{what} must be positive, got: {value} instead.")


def _cosines(k: Tensor, last: int, a: Sequence[float]) -> Tensor:
    """The sum of cosines that make so many whole turns within the window, each next one turned round."""
    functions["tensor"](a, dtype=k.dtype)  # which tells what are no numbers
    return sum([weight * (-1) ** i * (k * (2 * math.pi * i / last)).cos() for i, weight in enumerate(a)])


@_window
def exponential(k: Tensor, last: int, sym: bool, *, center: float | None = None, tau: float = 1.0) -> Tensor:
    """Weights that fall by a factor of e every `tau` places."""
    _check_positive("Tau", tau)
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return (-(k - (last / 2 if center is None else center)).abs() / tau).exp()


@_window
def cosine(k: Tensor, last: int, sym: bool) -> Tensor:
    """Half a wave."""
    return ((k + 0.5) * (math.pi / (last + 1))).sin()


@_window
def gaussian(k: Tensor, last: int, sym: bool, *, std: float = 1.0) -> Tensor:
    """The bell curve."""
    _check_positive("Standard deviation", std)
    return (((k - last / 2) / std) ** 2 / -2).exp()


@_window
def kaiser(k: Tensor, last: int, sym: bool, *, beta: float = 12.0) -> Tensor:
    """Nearly the most of its energy about one frequency that is possible; the larger `beta`, the wider."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return (beta * (1 - (k / (last / 2) - 1) ** 2).sqrt()).i0() / k.new_tensor(beta).i0()


@_window
def bartlett(k: Tensor, last: int, sym: bool) -> Tensor:
    """A triangle."""
    return 1 - (k / (last / 2) - 1).abs()


@_window
def blackman(k: Tensor, last: int, sym: bool) -> Tensor:
    """Three cosines that nearly cancel at the ends."""
    return _cosines(k, last, (0.42, 0.5, 0.08))


@_window
def general_cosine(k: Tensor, last: int, sym: bool, *, a: Sequence[float]) -> Tensor:
    """A sum of cosines with the weights `a`, with signs in turn."""
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(k, last, a)


def general_hamming(M: int, *, alpha: float = 0.54, **options: Any) -> Tensor:
    """A cosine on a pedestal."""
    return general_cosine(M, a=(alpha, 1 - alpha), **options)


def hamming(M: int, **options: Any) -> Tensor:
    """The cosine on a pedestal that suppresses the nearest frequencies best."""
    return general_hamming(M, **options)


def hann(M: int, **options: Any) -> Tensor:
    """A cosine that begins and ends at zero."""
    return general_hamming(M, alpha=0.5, **options)


def nuttall(M: int, **options: Any) -> Tensor:
    """Four cosines, for the lowest side lobes."""
    return general_cosine(M, a=(0.3635819, 0.4891775, 0.1365995, 0.0106411), **options)
