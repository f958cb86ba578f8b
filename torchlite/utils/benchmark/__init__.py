"""`torch.utils.benchmark`: measuring how long statements take, and comparing them."""

from __future__ import annotations

from typing import Any

from .compare import Colorize, Compare
from .measurement import Measurement, TaskSpec, ordered_unique, select_unit, trim_sigfig, unit_to_english
from .timer import Language, Timer, timer


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.utils.benchmark.{name} yet (docs/coverage.md lists what there is)")
