"""`torch.utils.benchmark`: measuring how long statements take, and comparing them."""

from __future__ import annotations

from typing import Any

from ...absent import explanation
from .utils.common import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from .utils.compare import Colorize, Compare
from .utils.timer import Language, Timer, timer


def __getattr__(name: str) -> Any:
    raise AttributeError(explanation(f"torch.utils.benchmark.{name}"), name=name)
