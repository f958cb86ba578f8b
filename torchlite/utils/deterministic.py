"""`torch.utils.deterministic`: what goes with `torch.use_deterministic_algorithms`."""

from __future__ import annotations

import sys
import types

from ..core.values.determinism import determinism


class _Deterministic(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether memory of `torch.empty` and its kin is filled, with NaN or the largest integer."""
        return determinism.fill_uninitialized_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                "_set_deterministic_fill_uninitialized_memory(): argument 'mode' (position 1) must be bool, not "
                + type(mode).__name__
            )
        determinism.fill_uninitialized_memory = mode


sys.modules[__name__].__class__ = _Deterministic
