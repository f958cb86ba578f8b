"""Types for what is made when torchlite is imported: `python -m torchlite.stubs` writes them beside the sources.

Type checkers read the library's own annotations. What those do not see, the functions and methods that ops are
published as, is written into `.pyi` files beside their modules. `python -m torchlite.stubs FOLDER` writes a package
`torch` there, by which `import torch` has the types of torchlite; `python -m torchlite --install` writes it where
checkers look.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from .pages import namespace, return_types, tensor
from .torch_names import torch_stubs as torch_stubs

ROOT = Path(__file__).parent.parent

# Modules that hand on what is made elsewhere.
_NAMESPACES = (
    "amp", "autograd", "backends", "cuda", "distributed", "distributions", "fft", "func", "linalg", "nn",
    "nn.functional", "nn.parallel", "nn.utils", "optim", "profiler", "sparse", "special", "utils", "utils.data",
)  # fmt: skip
_NAMES = ["torchlite", *[f"torchlite.{name}" for name in _NAMESPACES]]


def _place(module: str) -> str:
    path = str(Path(importlib.import_module(module).__file__ or "").relative_to(ROOT))
    return path + "i"


def write(files: dict[str, str], folder: Path) -> None:
    """Write files by their places in a folder."""
    for place, text in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def written() -> dict[str, str]:
    """The files that there are to be, by their places in the package."""
    pages = {_place(name): namespace(name) for name in _NAMES}
    return pages | {"core/machine/tensor.pyi": tensor(), "return_types.pyi": return_types()}
