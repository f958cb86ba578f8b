"""`gradient`: slopes estimated from sampled values."""

from __future__ import annotations

from typing import Any

from ...core.declare import Composite, describe, publish
from ...core.machine import Tensor, TensorBase
from ...core.values import dt, wrap_dims
from ..pointwise.arithmetic import divide_by, multiply_by
from ..shapes.joining import cat
from ..shapes.shape import along_dim
from ..shapes.slicing import slice_
from ..vocabulary import requirement


def _even(t: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    """Slopes of samples at equal distances."""
    step = step.item() if isinstance(step, TensorBase) else float(step) if isinstance(step, int) else step

    def part(start: int | None, end: int | None) -> Tensor:
        return slice_.apply(t, dim, start, end, 1)

    def at(i: int, factor: float) -> Tensor:
        return multiply_by.apply(part(i, i + 1 or None), factor)

    before = part(0, -2)
    inner = divide_by.apply(part(2, None) - before, step)
    if edge_order == 1:
        start = part(0, 1)
        first = divide_by.apply(part(1, 2) - start, step)
        start = part(-2, -1)
        last = divide_by.apply(part(-1, None) - start, step)
    else:
        first = divide_by.apply(at(0, -1.5) + at(1, 2) - at(2, 0.5), step)
        last = divide_by.apply(at(-1, 1.5) - at(-2, 2) + at(-3, 0.5), step)
    return cat.apply([first, divide_by.apply(inner, 2), last], dim)


def _uneven(t: Tensor, dim: int, points: Tensor, edge_order: int) -> Tensor:
    """Slopes of samples at given points."""
    n = t.shape[dim]
    step = points.diff().reshape(along_dim(dim, t.dim()))

    def at(i: int, count: int = 1) -> Tensor:
        return t.narrow(dim, i % n, count)

    def width(i: int, count: int = 1) -> Tensor:
        return step.narrow(dim, i % (n - 1), count)

    left, right = width(0, n - 2), width(1, n - 2)
    inner = (
        at(0, n - 2) * (-right / (left * (left + right)))
        + at(1, n - 2) * ((right - left) / (left * right))
        + at(2, n - 2) * (left / (right * (left + right)))
    )
    if edge_order == 1:
        ends = (at(1) - at(0)) / width(0), (at(-1) - at(-2)) / width(-1)
    else:
        a, b = width(0), width(1)
        first = at(0) * (-(a * 2 + b) / (a * (a + b))) + at(1) * ((a + b) / (a * b)) + at(2) * (-a / (b * (a + b)))
        a, b = width(-1), width(-2)
        last = at(-1) * ((a * 2 + b) / (a * (a + b))) - at(-2) * ((a + b) / (a * b)) + at(-3) * (a / (b * (a + b)))
        ends = first, last
    return cat.apply([ends[0], inner, ends[1]], dim)


_require = requirement("torch.gradient ")


def gradient(input: Tensor, spacing: Any, dim: Any, edge_order: int) -> tuple[Tensor, ...]:
    several = isinstance(spacing, tuple)
    if dim is None:
        _require(
            not several or len(spacing) == input.dim(),
            "expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{input.dim()}', since dim argument was not given, but got a list of length "
            f"{len(spacing) if several else 1}",
        )
        dims = tuple(range(input.dim()))
    else:
        dims = wrap_dims((dim,) if isinstance(dim, int) else dim, input.dim())
    steps = spacing if several else (1 if spacing is None else spacing,) * len(dims)
    _require(
        len(steps) == len(dims),
        "expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but "
        f"got a spacing argument of length {len(steps)} and a dim argument of length {len(dims)}.",
    )
    _require(edge_order in (1, 2), "only supports edge_order=1 and edge_order=2.")
    _require(input.dtype is not dt.uint8, "does not support uint8 input.")
    for d in dims:
        _require(input.shape[d] > edge_order, "expected each dimension size to be at least edge_order+1")
    results = []
    for d, step in zip(dims, steps, strict=True):
        if isinstance(step, TensorBase) and step.dim():
            _require(
                step.dim() == 1,
                f"expected each element of spacing to have one dimension, but got an element with {step.dim()} "
                "dimensions!",
            )
            _require(
                step.device == input.device,
                f"expected each tensor to be on the same device, but got devices {input.device} and {step.device}!",
            )
            results.append(_uneven(input, d, step, edge_order))
        else:
            results.append(_even(input, d, step, edge_order))
    return tuple(results)


def _at_dims(input: Tensor, dim: Any, edge_order: int) -> tuple[Tensor, ...]:
    return gradient(input, None, dim, edge_order)


publish(
    *[
        Composite(
            f"gradient.{overload}(Tensor self, *, {given}, int edge_order=1) -> Tensor[]",
            gradient if "spacing" in given else _at_dims,
        )
        for overload, given in {
            "scalarint": "Scalar? spacing=None, int? dim=None",
            "scalararray": "Scalar spacing, int[] dim",
            "array": "int[] dim",
            "scalarrayint": "Scalar[] spacing, int? dim=None",
            "scalarrayarray": "Scalar[] spacing, int[] dim",
            "tensorarrayint": "Tensor[] spacing, int? dim=None",
            "tensorarray": "Tensor[] spacing, int[] dim",
        }.items()
    ],
    method=False,
)
describe(
    gradient="""The slope of sampled values along each of the dimensions, by second-order differences.

    `spacing` is the distance between samples, or one for each dimension, or the samples' positions as 1-dim tensors.
    """
)
