"""Libraries of compiled operators, of which none can run here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any


def load_library(path: Any) -> None:
    """`torch.ops.load_library`: it fails as where one does not fit PyTorch, but for torchvision's and torchaudio's."""
    library = Path(path)
    if library.parent.name == "torchvision" and library.stem in ("_C", "_C_stable"):
        return import_module(".vision", __package__).load()
    name = library.name.partition(".")[0]
    if library.parent.parent.name == "torchaudio" and name in ("_torchaudio", "libtorchaudio"):
        return import_module(".audio", __package__).load()
    raise OSError(f"Could not load this library: {path} (torchlite runs no compiled operators)")
