"""Boxes and arrows as SVG."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from .layers import lay

_COLOURS = {"output": "#ffe3b3", "node": "#e4e7eb", "leaf": "#cfe6ff"}
_LEGEND = {"leaf": "leaf: its .grad is filled", "node": "operation, and what it keeps", "output": "output"}
_LINE, _LETTER, _MARGIN = 16.0, 7.3, 20.0


class Box(NamedTuple):
    """An "output", a "node" or a "leaf", with a title and lines beneath it."""

    kind: str
    title: str
    lines: list[str]

    def extent(self) -> tuple[float, float]:
        longest = max(map(len, (self.title, *self.lines)))
        return longest * _LETTER + 20, (1 + len(self.lines)) * _LINE + 10


class Drawing:
    """A drawing that notebooks show."""

    def __init__(self, boxes: Sequence[Box], arrows: Sequence[tuple[int, int]]) -> None:
        self.boxes = list(boxes)
        self.arrows = list(arrows)

    def __repr__(self) -> str:
        return f"Drawing of {len(self.boxes)} boxes and {len(self.arrows)} arrows"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing into an SVG file."""
        Path(path).write_text(self.svg(), encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """The drawing, from leaves at the top to outputs at the bottom."""
        layout = lay([box.extent() for box in self.boxes], self.arrows)
        kinds = [kind for kind in _LEGEND if any(box.kind == kind for box in self.boxes)]
        widest = max((len(_LEGEND[kind]) for kind in kinds), default=0) * _LETTER + 40
        width = max(layout.width, widest) + 2 * _MARGIN
        height = layout.height + 3 * _MARGIN + _LINE * len(kinds)
        body = [_arrow(way, self.boxes[start], self.boxes[end])
                for way, (start, end) in zip(layout.ways, self.arrows, strict=True)]  # fmt: skip
        body += [_box(box, at) for box, at in zip(self.boxes, layout.places, strict=True)]
        for i, kind in enumerate(kinds):
            y = layout.height + 1.5 * _MARGIN + i * _LINE
            body.append(f'<rect x="0" y="{y:.0f}" width="12" height="12" fill="{_COLOURS[kind]}" stroke="#667"/>')
            body.append(f'<text x="20" y="{y + 10:.0f}">{escape(_LEGEND[kind])}</text>')
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12">\n'
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0 8 4 0 8z" fill="#667"/></marker></defs>\n'
            f'<rect width="100%" height="100%" fill="white"/>\n<g transform="translate({_MARGIN} {_MARGIN})">\n'
            + "\n".join(body) + "\n</g>\n</svg>\n"
        )  # fmt: skip


def _box(box: Box, at: tuple[float, float]) -> str:
    width, height = box.extent()
    x, y = at[0] - width / 2, at[1] - height / 2
    frame = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" '
    lines = []
    for i, line in enumerate((box.title, *box.lines), 1):
        weight = ' font-weight="bold"' if i == 1 else ""
        place = f'x="{at[0]:.1f}" y="{y + i * _LINE:.1f}"'
        lines.append(f'<text {place} text-anchor="middle"{weight}>{escape(line)}</text>')
    return frame + f'fill="{_COLOURS[box.kind]}" stroke="#667"/>' + "".join(lines)


def _arrow(way: Sequence[tuple[float, float]], start: Box, end: Box) -> str:
    """A curve by way of the bends."""
    (left, top), (right, bottom) = way[0], way[-1]
    points = [(left, top + start.extent()[1] / 2), *way[1:-1], (right, bottom - end.extent()[1] / 2)]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        path += f" C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
    return f'<path d="{path}" fill="none" stroke="#667" marker-end="url(#head)"/>'


def size(count: int) -> str:
    """Bytes as people read them."""
    amount, unit = float(count), "B"
    for larger in ("KB", "MB", "GB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
