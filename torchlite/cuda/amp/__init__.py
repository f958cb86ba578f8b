"""`torch.cuda.amp`: the older names of what is in `torch.amp`."""

from __future__ import annotations

import functools
from typing import Any

from ... import amp as _amp
from ...core.values import dt
from ...core.values import warn as _warn
from ...core.values.pickling import bear_name as _bear_name
from ...faces import later as _later
from .. import is_available


def renamed(device: str, old: str, new: str) -> None:
    _warn(f"`torch.{device}.amp.{old}(args...)` is deprecated. Please use `torch.amp.{new}` instead.", FutureWarning)


class autocast(_amp.autocast):
    """`torch.amp.autocast("cuda", …)`."""

    def __init__(self, enabled: bool = True, dtype: dt.dtype = dt.float16, cache_enabled: bool = True) -> None:
        renamed("cuda", "autocast", "autocast('cuda', args...)")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_amp.GradScaler):
    """`torch.amp.GradScaler("cuda", …)`."""

    def __init__(
        self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        renamed("cuda", "GradScaler", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


@functools.wraps(_amp.custom_fwd)
def custom_fwd(fwd: Any = None, *, cast_inputs: dt.dtype | None = None) -> Any:
    renamed("cuda", "custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return _amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


@functools.wraps(_amp.custom_bwd)
def custom_bwd(bwd: Any) -> Any:
    renamed("cuda", "custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return _amp.custom_bwd(bwd, device_type="cuda")


for _cls in (autocast, GradScaler):
    _bear_name(_cls, "torch.cuda.amp." + ("autocast_mode" if _cls is autocast else "grad_scaler"))


def amp_definitely_not_available() -> bool:
    """Whether there is no device for which a `GradScaler` here does something."""
    return not is_available()


__getattr__ = _later(__name__)
