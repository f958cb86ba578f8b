"""Scales and zero points that suit numbers within limits."""

from __future__ import annotations

import numpy as np

_SMALLEST = 6.1e-5  # of scales; one over a smaller one has no place in float16


def chosen(low: float, high: float, first: int, last: int, symmetric: bool = False) -> tuple[float, int]:
    """A scale and a zero point by which `first` to `last` stand for the numbers from `low` to `high`, and for zero."""
    if symmetric and low < 0 < high:
        steps = -((last - first) // 2 + 1), (last - first) // 2
        widest = max(abs(low / steps[0]), abs(high / steps[1]))
        low, high = widest * steps[0], widest * steps[1]
    low, high = np.float32(min(low, 0.0)), np.float32(max(high, 0.0))  # type: ignore[assignment]
    scale = (float(high) - float(low)) / (last - first)
    if np.float32(scale) == 0 or np.isinf(np.float32(1) / np.float32(scale)):
        scale = 0.1
    if scale < _SMALLEST:
        before, scale = scale, float(np.float32(_SMALLEST))
        if low == 0:
            high = np.float32(scale * (last - first))  # type: ignore[assignment]
        elif high == 0:
            low = np.float32(-scale * (last - first))  # type: ignore[assignment]
        else:
            low, high = low * np.float32(scale / before), high * np.float32(scale / before)  # type: ignore[assignment]
    # Of the two ends, that counts from which the error of zero is the smaller.
    from_low, from_high = first - float(low) / scale, last - float(high) / scale
    errors = abs(first) - abs(float(low) / scale), abs(last) - abs(float(high) / scale)
    nearest = from_low if errors[0] < errors[1] else from_high
    if symmetric and low < 0 < high:
        nearest = (first + last) / 2
    return scale, first if nearest < first else last if nearest > last else int(np.rint(nearest))
