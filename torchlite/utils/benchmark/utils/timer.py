"""Measuring how long a statement takes."""

from __future__ import annotations

import enum
import textwrap
import time
import timeit
from collections.abc import Callable
from typing import Any, NoReturn

from .... import cuda
from .common import Measurement, TaskSpec, set_torch_threads


def timer() -> float:
    """The time, when CUDA has done what it was told, if there is CUDA."""
    if cuda.is_available():
        cuda.synchronize()
    return time.perf_counter()


class Language(enum.Enum):
    """In which language a statement is written."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures a statement, which may use what `globals` holds, and what `setup` makes."""

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
        description: str | None = None, env: str | None = None, num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:  # fmt: skip
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("torchlite measures Python, and cannot compile C++")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._globals = dict(globals or {})
        if not self._globals.get("torch"):
            import torchlite

            self._globals["torch"] = torchlite
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=self._globals)

    def _measured(self, measure: Callable[[], tuple[int, list[float]]]) -> Measurement:
        """What `measure` gives, with so many threads as were asked for."""
        with set_torch_threads(self._task_spec.num_threads):
            number, times = measure()
        return Measurement(number, times, self._task_spec)

    def _time(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """The time of so many runs."""

        def measure() -> tuple[int, list[float]]:
            self._time(max(number // 100, 2))  # warm up
            return number, [self._time(number)]

        return self._measured(measure)

    def _block(self, callback: Callable[[int, float], Any], min_run_time: float) -> int:
        """How many runs make a block, next to which the overhead of measuring is small."""
        overhead = sorted(self._time(0) for _ in range(5))[2]
        number = 1
        while True:
            taken = self._time(number)
            callback(number, taken)
            if (taken > 0 and overhead / taken <= 1e-4 and taken >= min_run_time / 1000) or taken > min_run_time:
                return number
            if taken > 0.01 * min_run_time and overhead / taken <= 1e-2:
                return number
            number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """The times of blocks of runs, as many as take `min_run_time` seconds together."""
        told = callback or (lambda number, taken: None)

        def measure() -> tuple[int, list[float]]:
            number = self._block(lambda number, taken: None, min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time:
                times.append(self._time(number))
                told(number, times[-1])
            return number, times

        return self._measured(measure)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """The times of blocks of runs, as many as make the interquartile range a small part of the median."""
        told = callback or (lambda number, taken: None)

        def measure() -> tuple[int, list[float]]:
            number, times = self._block(lambda number, taken: None, min_run_time), []
            while True:
                times.append(self._time(number))
                told(number, times[-1])
                total = sum(times)
                enough = len(times) > 3 and total > min_run_time
                if total >= max_run_time and len(times) > 3:
                    return number, times
                if enough and Measurement(number, times, self._task_spec).meets_confidence(threshold):
                    return number, times

        return self._measured(measure)

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> Measurement:
        """The time of as many runs as take 0.2 seconds or more."""

        def measure() -> tuple[int, list[float]]:
            number, taken = self._timer.autorange(callback)
            return number, [taken]

        return self._measured(measure)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Refuse, as PyTorch does: `blocked_autorange` is better."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def collect_callgrind(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: instructions are not counted."""
        raise NotImplementedError("torchlite does not count instructions with Callgrind: use blocked_autorange")
