"""Measurements side by side in a table."""

from __future__ import annotations

import enum
import math

from .common import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m\033[1m", "\033[34m\033[1m", "\033[2m\033[91m", "\033[31m\033[1m"
_END = "\033[0m\033[0m"


class Colorize(enum.Enum):
    """With what times are compared for colours: those of their column, or of their row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _colored(text: str, ratio: float) -> str:
    """A time in the colour that its ratio to the best deserves."""
    if ratio <= 1:
        return _BEST + text + _END
    if ratio <= 1.1:
        return _GOOD + text + _END
    if ratio >= 5:
        return _VERY_BAD + text + _END
    return _BAD + text + _END if ratio >= 2 else text


class _Table:
    """One table: a row for each task, a column for each description."""

    def __init__(self, results: list[Measurement], compare: Compare) -> None:
        self.compare = compare
        self.label = results[0].task_spec.label or results[0].task_spec.stmt
        self.unit, self.length = select_unit(min(m.median for m in results))
        self.columns = ordered_unique(m.task_spec.description for m in results)
        self.several = len({m.env for m in results}) > 1
        threads = sorted({m.task_spec.num_threads for m in results})
        keys = ordered_unique((m.task_spec.env, m.as_row_name) for m in results)
        found = {(m.task_spec.num_threads, m.task_spec.env, m.as_row_name, m.task_spec.description): m for m in results}
        self.groups = {
            n: {
                k: [found.get((n, *k, c)) for c in self.columns]
                for k in keys
                if any((n, *k, c) in found for c in self.columns)
            }
            for n in threads
        }
        self.rows = [row for group in self.groups.values() for row in group.values()]

    def _cells(self, column: int) -> list[str]:
        """A column's times as text of equal length, and what is said of those that vary."""
        results = [row[column] for row in self.rows]
        there = [m for m in results if m is not None]
        trim = self.compare._trim
        digits = 1
        if trim:
            leading = [math.ceil(math.log10(m.median / self.length)) for m in there]
            digits = min(max(m.significant_figures - lead, 0) for m, lead in zip(there, leading))
        texts = []
        for m in there:
            value = m.median / self.length
            texts.append(f"{trim_sigfig(value, m.significant_figures) if trim else value:.{digits}f}")
        wide = max(map(len, texts))
        texts = [text.rjust(wide) for text in texts]
        if self.compare._warn and any(m.has_warnings for m in there):
            notes = [f" (! {m.iqr / m.median * 100:.0f}%)" if m.has_warnings else "" for m in there]
            longest = max(map(len, notes))
            texts = [(text + (note or " " * (longest - 1))).rjust(wide + longest) for text, note in zip(texts, notes)]
        made = iter(texts)
        return ["" if m is None else next(made) for m in results]

    def _painted(self, cells: list[list[str]]) -> list[list[str]]:
        how = self.compare._colorize
        if how is Colorize.NONE:
            return cells
        best = []  # for each row, what its times are compared with
        for group in self.groups.values():
            rows = list(group.values())
            columns = [min((m.median for m in column if m is not None), default=1.0) for column in zip(*rows)]
            for row in rows:
                least = min(m.median for m in row if m is not None)
                best.append([least] * len(row) if how is Colorize.ROWWISE else columns)
        return [
            [text if m is None else _colored(text, m.median / b) for m, text, b in zip(*line)]
            for line in zip(self.rows, cells, best)
        ]

    def _names(self) -> list[str]:
        names = []
        for group in self.groups.values():
            before = None
            for env, name in group:
                shown = f"({env})" if env and env != before else ""
                names.append(f"{shown.rjust(6)}  {name}" if self.several else " " * 6 + name)
                before = env
        return names

    def render(self) -> str:
        columns = [self._cells(j) for j in range(len(self.columns))]
        heads = [c or "" for c in self.columns]
        wide = [max(len(head), *map(len, cells)) for head, cells in zip(heads, columns)]
        plain = [[text.center(w) for text, w in zip(row, wide)] for row in zip(*columns)]
        names = self._names()
        first = max(map(len, names))

        def line(name: str, cells: list[str]) -> str:
            return "  |  ".join([name.ljust(first), *cells])

        top = line("", [head.center(w) for head, w in zip(heads, wide)])
        out = ["[" + f" {self.label} ".center(len(top) - 2, "-") + "]", top]
        rows = iter(zip(names, self._painted(plain)))
        for threads, group in self.groups.items():
            title = f"{threads} threads: "
            out.append(title + "-" * (len(top) - len(title)))
            out += [line(*next(rows)) for _ in group]
        out += ["", f"Times are in {unit_to_english(self.unit)}s ({self.unit})."]
        if self.compare._warn and any(m is not None and m.has_warnings for row in self.rows for m in row):
            out.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join(out) + "\n"


class Compare:
    """Measurements, shown in one table for each label."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = self._warn = False
        self._colorize = Colorize.NONE

    def extend_results(self, results: list[Measurement]) -> None:
        """Add measurements."""
        for m in results:
            if not isinstance(m, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(m)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show no more figures than mean something."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show times in colours, by how they compare with the best of their column or row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times that vary much."""
        self._warn = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            groups.setdefault(m.task_spec.label, []).append(m)
        return "\n".join(_Table(group, self).render() for group in groups.values())
