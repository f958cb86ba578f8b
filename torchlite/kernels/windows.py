"""How many windows slide over an image, and how large an image they slide over."""

from __future__ import annotations


def steps(size: int, window: int, stride: int, padding: int, dilation: int, ceil: bool = False) -> int:
    """How many windows fit; with `ceil`, one may reach out, but not begin, beyond the image and what is before it."""
    free = size + 2 * padding - dilation * (window - 1) - 1
    count = (free + (stride - 1 if ceil else 0)) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


def transposed_size(count: int, window: int, stride: int, padding: int, dilation: int, more: int) -> int:
    """The size of the image that a transposed convolution of one of size `count` gives."""
    return (count - 1) * stride - 2 * padding + dilation * (window - 1) + more + 1
