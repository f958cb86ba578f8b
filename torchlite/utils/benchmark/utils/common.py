"""What was measured, and how it is shown."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .... import settings

_LEAST = 25e-9  # seconds: no interval of confidence is smaller
_MAX_FIGURES = 4
_WARN, _WARN_MORE = 0.1, 0.25  # what of the median the interquartile range may be
_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1.0)}


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which to show a time, and its length in seconds."""
    power = min(max(math.floor(math.log10(t) / 3 + 1e-12) if t > 0 else -3, -3), 0)
    unit = {-3: "ns", -2: "us", -1: "ms", 0: "s"}[power]
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """The name of a unit."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """A number with so many significant figures."""
    magnitude = math.ceil(math.log10(abs(x))) if x else 0
    scale = 10.0 ** (magnitude - n)
    return round(x / scale) * scale


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Each element once, in the order in which they came."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Compute with so many threads inside."""
    before = settings.get_num_threads()
    settings.set_num_threads(n)
    try:
        yield
    finally:
        settings.set_num_threads(before)


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is measured, and how it is called."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        if not self.setup or self.setup == "pass":
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}\n"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, those that there are, each on lines of its own."""
        return "\n".join(filter(None, (self.title, self.description or "", self.setup_str())))


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """The times that a statement took; each of `raw_times` is the sum of `number_per_run` runs."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds a run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range: that of the middle half of the times."""
        return self._quartiles[1] - self._quartiles[0]

    @property
    def _quartiles(self) -> tuple[float, float]:
        low, high = np.quantile(self.times, (0.25, 0.75)).tolist()
        return low, high

    @property
    def significant_figures(self) -> int:
        """How many figures of the median mean something, by the middle half of the times."""
        count = len(self.raw_times)
        middle = sorted(self.times)[count // 4 : math.ceil(3 * count / 4)]
        interval = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), _LEAST)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MAX_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ much."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = _WARN) -> bool:
        """Whether the interquartile range is at most this part of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, length = select_unit(self.median)
        count, runs, threads = len(self.raw_times), self.number_per_run, self.task_spec.num_threads
        lines = [object.__repr__(self), self.task_spec.summarize()]
        if count == 1:
            lines.append(f"  {self.median / length:.2f} {unit}")
        else:
            lines.append(f"  Median: {self.median / length:.2f} {unit}")
        if count >= 4:
            low, high = (q / length for q in self._quartiles)
            lines.append(f"  IQR:    {self.iqr / length:.2f} {unit} ({low:.2f} to {high:.2f})")
        several = "s" if count > 1 else ""
        lines.append(
            f"  {count} measurement{several}, {runs} runs {'per measurement' if several else ''}, "
            f"{threads} thread{'s' if threads > 1 else ''}"
        )
        if count > 1 and self.has_warnings:
            part = self.iqr / self.median
            lines.append(f"  WARNING: Interquartile range is {part * 100:.1f}% of the median measurement.")
            if part >= _WARN_MORE:
                lines.append("           This suggests significant environmental influence.")
            else:
                lines.append("           This could indicate system fluctuation.")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with the times of all of it."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).append(m)
        return [_merged(group) for group in groups.values()]


def _merged(group: list[Measurement]) -> Measurement:
    runs = {m.number_per_run for m in group}
    number = runs.pop() if len(runs) == 1 else 1
    times = [t for m in group for t in (m.raw_times if number == m.number_per_run else m.times)]
    return Measurement(number, times, group[0].task_spec)
