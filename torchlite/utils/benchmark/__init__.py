"""`torch.utils.benchmark`: measuring how long statements take, and comparing them."""

from __future__ import annotations

from ...absent import lacking
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

__getattr__ = lacking(__name__)
