"""Pickling what bears PyTorch's names.

Classes are shown as `torch.nn.modules.linear.Linear`. A pickle that names them so is found again where `torch` means
torchlite; elsewhere that name would lead to PyTorch, or nowhere, and torchlite's own is written instead.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def reduce_ex(self: Any, protocol: Any) -> Any:
    """The `__reduce_ex__` of classes that bear PyTorch's names, and have no other."""
    reduced = object.__reduce_ex__(self, max(int(protocol), 2))
    cls = type(self)
    if not cls.__module__.startswith("torch.") or getattr(sys.modules.get("torch"), "__name__", "") == "torchlite":
        return reduced
    return (_blank, (cls.__module__, cls.__qualname__), *reduced[2:])


def _blank(module: str, name: str) -> Any:
    """An instance, without its state, of the class that PyTorch has under this name."""
    found: Any = importlib.import_module("torchlite" + module.removeprefix("torch"))
    for part in name.split("."):
        found = getattr(found, part)
    return found.__new__(found)
