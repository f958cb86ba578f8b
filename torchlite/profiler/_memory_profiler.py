"""The memory of a profiled program over time, by what it was for: as numbers, or drawn."""

from __future__ import annotations

import gzip
import json
from typing import Any

from ..autograd.profiler_memory import Category
from ..autograd.profiler_util import EventList

# In the order in which files have them, each with its colour; the columns of sizes begin with one of zeros.
_COLOURS = {
    Category.PARAMETER: "#2f6f3e", Category.OPTIMIZER_STATE: "#d9a62e", Category.INPUT: "#444444",
    Category.TEMPORARY: "#9a7fd1", Category.ACTIVATION: "#d9483b", Category.GRADIENT: "#2f4fb5",
    Category.AUTOGRAD_DETAIL: "#6f93e6",
}  # fmt: skip
_KINDS = [*_COLOURS]
_COLUMNS = len(_KINDS) + 2
_THERE, _MADE, _GONE = 1, 2, 4  # what happens to memory, as files say it


class MemoryProfileTimeline:
    """What a profile saw of memory."""

    def __init__(self, events: EventList) -> None:
        self.events = events

    def changes(self) -> list[tuple[int, int, int, int]]:
        """For each change its time in nanoseconds, what it was, its bytes, and the number of its category."""
        told = []
        for r in sorted(self.events.memory, key=lambda r: r.time):
            older = r.time < 0
            what = _THERE if older else _MADE if r.nbytes > 0 else _GONE
            time = -1 if older else self.events.began + round(r.time * 1000)
            told.append((time, what, r.nbytes, _KINDS.index(r.allocation.category)))
        return told

    def sizes(self) -> tuple[list[int], list[list[int]]]:
        """Times in microseconds, and for each the bytes of every category."""
        times: list[int] = []
        rows: list[list[int]] = []
        row = [0] * _COLUMNS
        changes = self.changes()
        first = next((time for time, what, _, _ in changes if what != _THERE), 0)
        for time, what, nbytes, kind in changes:
            row = [*row]
            row[1 + kind] += nbytes
            if what == _THERE:  # all at once, before the first change
                rows[:], times[:] = [row], [first // 1000]
            else:
                rows.append(row)
                times.append(time // 1000)
        return times, rows

    def export(self, path: str) -> None:
        """Write a drawing (`.html`), the changes (`raw.json.gz`), or else times and sizes, packed for `.gz`."""
        if path.endswith(".html"):
            with open(path, "w", encoding="utf-8") as page:
                page.write(self.html())
            return
        told: Any = self.changes() if path.endswith("raw.json.gz") else self.sizes()
        with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as file:
            json.dump(told, file)

    def html(self, width: int = 960, height: int = 480) -> str:
        """A page with the sizes stacked over time."""
        times, rows = self.sizes()
        most = max((sum(row) for row in rows), default=0)
        span = (times[-1] - times[0] if times else 0) or 1
        floor, drawn, legend = [0] * len(rows), [], []
        for column, (category, colour) in enumerate(_COLOURS.items(), 1):
            roof = [beneath + row[column] for beneath, row in zip(floor, rows)]
            if roof != floor:
                corners = [*_steps(times, roof, span, most, width, height)]
                corners += reversed([*_steps(times, floor, span, most, width, height)])
                drawn.append(f'<polygon fill="{colour}" points="{" ".join(corners)}"/>')
                legend.append(f'<span style="color:{colour}">&#9632; {category.name.lower()}</span>')
            floor = roof
        return (
            '<!doctype html><meta charset="utf-8"><title>Memory over time</title><body style="font-family:sans-serif">'
            f"<p>At most {most / 2**20:.2f} MB, in {span / 1000:.2f} ms</p>"
            f'<svg width="{width}" height="{height}" style="border:1px solid #888">{"".join(drawn)}</svg>'
            f"<p>{' '.join(legend)}</p></body>\n"
        )


def _steps(times: list[int], sizes: list[int], span: int, most: int, width: int, height: int) -> list[str]:
    """The corners of a curve that keeps each size until the next."""
    corners = []
    for at, size in enumerate(sizes):
        y = height * (1 - size / (1.05 * most))
        until = times[at + 1] if at + 1 < len(times) else times[at]
        corners += [f"{width * (time - times[0]) / span:.1f},{y:.1f}" for time in (times[at], until)]
    return corners
