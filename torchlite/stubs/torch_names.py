"""`torch-stubs`: the names of torch's modules, with what torchlite has under them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..faces.table import FACES
from .origins import OWN, Home, home, imports, made

_ROOT = Path(__file__).parent.parent
_ANYTHING = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"


def torch_stubs() -> dict[str, str]:
    """The files of the package, by their places in it."""
    files = {place: _handing_on(place) for place in _places()}
    for face in FACES:
        package = any(other.startswith(f"{face}.") for other in FACES)
        files[face.replace(".", "/") + ("/__init__.pyi" if package else ".pyi")] = _ANYTHING
    return files


def _places() -> Iterator[str]:
    """Where in the package a module of PyTorch's would lie."""
    for path in sorted(_ROOT.rglob("*.py")):
        place = path.relative_to(_ROOT)
        if place.parts[0].removesuffix(".py") not in OWN and place.name != "__main__.py":
            yield f"{place}i"


def _handing_on(place: str) -> str:
    """A module that has what torchlite's has, what its `__all__` leaves out too."""
    own = ".".join(("torchlite", *Path(place).with_suffix("").parts)).removesuffix(".__init__")
    if (_ROOT / place).exists():  # a stub, which hands on all it has
        return f"from {own} import *\n"
    named, stars = imports(own)
    lines = [f"from {source} import *" for source in (own, *stars)]
    lines += [_taken(home(own, name), name) for name in named if not name.startswith("_")]
    return "\n".join([*lines, *[f"from {own} import {name} as {name}" for name in sorted(made(own))], ""])


def _taken(where: Home, name: str) -> str:
    return f"from {where.module} import {where.name} as {name}" if where.name else f"import {where.module} as {name}"
