"""`torch._C._fft`, `_linalg` and `_special`: functions under the names that PyTorch's core has for them."""

from __future__ import annotations

import types
from typing import Any

from .. import fft, linalg, special
from ._lacking import OF_MATRICES


class _Theme(types.ModuleType):
    def __init__(self, home: types.ModuleType) -> None:
        self.home, self.theme = home, home.__name__.rpartition(".")[2]
        super().__init__(f"{__package__}._{self.theme}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith(f"{self.theme}_") and hasattr(self.home, name[len(self.theme) + 1 :]):
            return getattr(self.home, name[len(self.theme) + 1 :])
        if self.theme == "linalg" and name in OF_MATRICES:
            return OF_MATRICES[name]
        raise AttributeError(f"module 'torch._C._{self.theme}' has no attribute '{name}'")


_fft, _linalg, _special = map(_Theme, (fft, linalg, special))
