"""`torch.utils.benchmark`: measuring how long statements take, and comparing them."""

from __future__ import annotations

from typing import Any

from ...absent import explanation
from .compare import Colorize, Compare
from .measurement import Measurement, TaskSpec, ordered_unique, select_unit, trim_sigfig, unit_to_english
from .timer import Language, Timer, timer


def __getattr__(name: str) -> Any:
    raise AttributeError(explanation(f"torch.utils.benchmark.{name}"), name=name)
