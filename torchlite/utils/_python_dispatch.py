"""`torch.utils._python_dispatch`: what is asked about subclasses of tensors."""

from __future__ import annotations

from typing import Any

from ..core.machine import Tensor

__all__ = ["is_traceable_wrapper_subclass"]


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor's class says how to take its instances apart and put them together."""
    return isinstance(t, Tensor) and all(hasattr(t, f"__tensor_{how}__") for how in ("flatten", "unflatten"))
