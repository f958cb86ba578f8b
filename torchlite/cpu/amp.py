"""`torch.cpu.amp`: the older names of what is in `torch.amp`."""

from __future__ import annotations

from typing import Any

from .. import amp as _amp
from ..core.values import dt, shown_in
from ..cuda.amp import renamed


@shown_in("torch.cpu.amp.autocast_mode")
class autocast(_amp.autocast):
    """`torch.amp.autocast("cpu", …)`."""

    def __init__(self, enabled: bool = True, dtype: dt.dtype = dt.bfloat16, cache_enabled: bool = True) -> None:
        renamed("cpu", "autocast", "autocast('cpu', args...)")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


@shown_in("torch.cpu.amp.grad_scaler")
class GradScaler(_amp.GradScaler):
    """`torch.amp.GradScaler("cpu", …)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        renamed("cpu", "GradScaler", "GradScaler('cpu', args...)")
        super().__init__("cpu", *args, **kwargs)
