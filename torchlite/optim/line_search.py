"""A line search for points that satisfy the strong Wolfe conditions.

Nocedal and Wright 2006, algorithms 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.tensor import Tensor


class Point(NamedTuple):
    """A place on the line: how far, the function's value, its gradient, and its slope along the line."""

    t: Any
    f: float
    g: Tensor
    slope: Any


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic with the values and slopes of two points is least, within bounds."""
    least, most = bounds if bounds is not None else sorted((a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return (least + most) / 2.0
    d2 = square**0.5 if not isinstance(square, Tensor) else square.sqrt()
    left, right = (a, b) if a.t <= b.t else (b, a)
    found = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2))
    return min(max(found, least), most)


def strong_wolfe(
    objective: Callable[[Any], tuple[float, Tensor]],
    t: Any,
    d: Tensor,
    f: float,
    g: Tensor,
    slope: Any,
    max_evals: int = 25,
    decrease: float = 1e-4,
    curvature: float = 0.9,
    tolerance_change: float = 1e-9,
) -> tuple[float, Tensor, Any, int]:
    """Search along `d`, starting with the step `t`; the value, gradient and step found, and the evaluations it took."""
    d_size = d.abs().max()
    evals = 0

    def at(t: Any) -> Point:
        nonlocal evals
        evals += 1
        f, g = objective(t)
        return Point(t, f, g, g.dot(d))

    start = previous = Point(0, f, g.clone(), slope)

    def too_high(point: Point) -> bool:
        return point.f > start.f + decrease * point.t * start.slope

    def flat(point: Point) -> bool:
        return bool(abs(point.slope) <= -curvature * start.slope)

    point = at(t)
    bracket: list[Point] = []
    done = False
    tries = 0
    while tries < max_evals:
        if too_high(point) or (tries > 1 and point.f >= previous.f) or (not flat(point) and point.slope >= 0):
            bracket = [previous, point]
            break
        if flat(point):
            bracket, done = [point], True
            break
        least = point.t + 0.01 * (point.t - previous.t)
        further = cubic_minimum(previous, point, (least, point.t * 10))
        previous, point = point, at(further)
        tries += 1
    if tries == max_evals:
        bracket = [start, point]

    stuck = False
    low, high = (0, -1) if bracket[0].f <= bracket[-1].f else (-1, 0)
    low, high = low % len(bracket), high % len(bracket)
    while not done and tries < max_evals:
        if abs(bracket[1].t - bracket[0].t) * d_size < tolerance_change:
            break
        t = cubic_minimum(bracket[0], bracket[1])
        # Not too close to the ends, twice in a row.
        ends = [p.t for p in bracket]
        margin = 0.1 * (max(ends) - min(ends))
        if min(max(ends) - t, t - min(ends)) < margin:
            if stuck or t >= max(ends) or t <= min(ends):
                t = max(ends) - margin if abs(t - max(ends)) < abs(t - min(ends)) else min(ends) + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = at(t)
        tries += 1
        if too_high(point) or point.f >= bracket[low].f:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        else:
            if flat(point):
                done = True
            elif point.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
    best = bracket[low]
    return best.f, best.g, best.t, evals
