"""A line search for points that satisfy the strong Wolfe conditions.

Nocedal and Wright 2006, algorithms 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ..core.machine import Tensor


class Point(NamedTuple):
    """A place on the line: how far, the function's value, its gradient, and its slope along the line."""

    t: Any
    f: float
    g: Tensor
    slope: Any


def _cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    return _cubic_interpolate(a.t, a.f, a.slope, b.t, b.f, b.slope, bounds)


class _Search:
    """A function along a line, and what makes a step along it long enough: a lower value, and a flatter slope."""

    def __init__(
        self, objective: Callable[[Any], tuple[float, Tensor]], d: Tensor, start: Point, decrease: float,
        curvature: float,
    ) -> None:  # fmt: skip
        self.objective, self.d, self.start = objective, d, start
        self.decrease, self.curvature = decrease, curvature
        self.evals = 0

    def at(self, t: Any) -> Point:
        self.evals += 1
        f, g = self.objective(t)
        return Point(t, f, g, g.dot(self.d))

    def too_high(self, point: Point) -> bool:
        return point.f > self.start.f + self.decrease * point.t * self.start.slope

    def flat(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -self.curvature * self.start.slope)

    def bracket(self, t: Any, max_tries: int) -> tuple[list[Point], int]:
        """Two points with a good one between them, or a good one alone, and the tries it took."""
        previous, point = self.start, self.at(t)
        for tries in range(max_tries):
            rising = tries > 1 and point.f >= previous.f
            if self.too_high(point) or rising or (not self.flat(point) and point.slope >= 0):
                return [previous, point], tries
            if self.flat(point):
                return [point], tries
            least = point.t + 0.01 * (point.t - previous.t)
            further = _cubic_minimum(previous, point, (least, point.t * 10))
            previous, point = point, self.at(further)
        return [self.start, point], max_tries

    def narrow(self, bracket: list[Point], max_tries: int, tolerance: float) -> Point:
        """The best point found by moving the ends of a bracket nearer to each other."""
        low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        size, stuck = self.d.abs().max(), False
        for _ in range(max_tries):
            if abs(bracket[1].t - bracket[0].t) * size < tolerance:
                break
            t, stuck = _off_the_ends(_cubic_minimum(bracket[0], bracket[1]), bracket, stuck)
            point = self.at(t)
            if self.too_high(point) or point.f >= bracket[low].f:
                bracket[high] = point
                low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
                continue
            if self.flat(point):
                return point
            if point.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
        return bracket[low]


def _off_the_ends(t: Any, bracket: list[Point], stuck: bool) -> tuple[Any, bool]:
    """`t`, not too close to the ends of a bracket twice in a row, and whether it is now."""
    ends = [p.t for p in bracket]
    least, most = min(ends), max(ends)
    margin = 0.1 * (most - least)
    if min(most - t, t - least) >= margin:
        return t, False
    if stuck or t >= most or t <= least:
        return (most - margin if abs(t - most) < abs(t - least) else least + margin), False
    return t, True


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Tensor], tuple[float, Tensor]], x: Any, t: Any, d: Tensor, f: float, g: Tensor,
    gtd: Any, c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[float, Tensor, Any, int]:  # fmt: skip
    """Search from `x` along `d`, starting with the step `t`; the value, gradient and step found, and the evaluations.

    `obj_func(x, t, d)` gives value and gradient at a step, `f`, `g` and `gtd` are those at `x`, and the slope there.
    """
    search = _Search(partial(_at, obj_func, x, d), d, Point(0, f, g.clone(), gtd), c1, c2)
    bracket, tries = search.bracket(t, max_ls)
    best = bracket[0] if len(bracket) == 1 else search.narrow(bracket, max_ls - tries, tolerance_change)
    return best.f, best.g, best.t, search.evals


def _at(obj_func: Callable[..., tuple[float, Tensor]], x: Any, d: Tensor, t: Any) -> tuple[float, Tensor]:
    return obj_func(x, t, d)


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """Where the cubic with values `f1`, `f2` and slopes `g1`, `g2` at `x1`, `x2` is least, within bounds."""
    least, most = bounds if bounds is not None else sorted((x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (least + most) / 2.0
    d2 = square**0.5 if not isinstance(square, Tensor) else square.sqrt()
    (left, slope), (right, last) = ((x1, g1), (x2, g2)) if x1 <= x2 else ((x2, g2), (x1, g1))
    found = right - (right - left) * ((last + d2 - d1) / (last - slope + 2 * d2))
    return min(max(found, least), most)
