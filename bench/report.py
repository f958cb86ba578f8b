"""Figures as text, and as charts."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from html import escape
from pathlib import Path

from .timing import Row, geometric_mean

MEAN = "geometric mean"


def line(row: Row, before: dict[str, float]) -> str:
    change = f"{row.ratio / before[row.name] - 1:+9.1%}" if row.name in before else ""
    return f"{row.name:<44}{row.microseconds:>12.1f}{row.against:>12.1f}{row.ratio:>8.2f}{change}"


def heading(group: str, library: str, against: str) -> str:
    return f"{group:<44}{library + ' µs':>12}{against + ' µs':>12}{'ratio':>8}"


def summary(rows: list[Row], before: dict[str, float]) -> str:
    ratios = [row.ratio for row in rows]
    worst = max(rows, key=lambda row: row.ratio)
    shared = [row.name for row in rows if row.name in before]
    change = ""
    if shared:
        now = geometric_mean([row.ratio for row in rows if row.name in before])
        change = f"{now / geometric_mean([before[name] for name in shared]) - 1:+9.1%}"
    return f"{MEAN:<68}{geometric_mean(ratios):>8.2f}{change}\nslowest: {worst.name}, {worst.ratio:.2f}"


def saved_ratios(path: str) -> dict[str, float]:
    """An earlier run's ratio by workload, from the file that it saved."""
    return {row["name"]: row["ratio"] for row in json.loads(Path(path).read_text())["rows"]}


def save(folder: Path, machine: dict[str, object], rows: list[Row]) -> None:
    """The figures as JSON, and a chart for each group."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.json").write_text(json.dumps({**machine, "rows": [asdict(row) for row in rows]}, indent=1))
    for group in dict.fromkeys(row.group for row in rows):
        (folder / f"{group}.svg").write_text(chart(group, [row for row in rows if row.group == group]))


def chart(title: str, rows: list[Row], left: int = 300, width: int = 480, step: int = 16) -> str:
    """Ratios as bars, on a logarithmic scale, from where both take the same time."""
    reach = max(1.0, *(abs(math.log2(row.ratio)) for row in rows))
    height = step * (len(rows) + 3)

    def place(ratio: float) -> float:
        return left + width / 2 * (1 + math.log2(ratio) / reach)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 60} {height}" font-family="sans-serif"'
        ' font-size="11">',
        f'<text x="{left}" y="{step}" font-weight="bold">{title}: time of torchlite over the other\'s</text>',
    ]
    for power in range(-int(reach), int(reach) + 1):
        x = place(2.0**power)
        colour = "#555" if power == 0 else "#ddd"
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{1.5 * step}" y2="{height - step}" stroke="{colour}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 2}" text-anchor="middle">{2.0**power:g}</text>')
    for i, row in enumerate(rows):
        low, high = sorted((place(1.0), place(row.ratio)))
        y, colour = step * (i + 1.6), "#4a7" if row.ratio <= 1 else "#c64"
        parts.append(f'<rect x="{low:.1f}" y="{y:.1f}" width="{high - low:.1f}" height="{step - 4}" fill="{colour}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + step - 6:.1f}" text-anchor="end">{escape(row.name)}</text>')
        parts.append(f'<text x="{left + width + 6}" y="{y + step - 6:.1f}">{row.ratio:.2f}</text>')
    return "\n".join([*parts, "</svg>", ""])
