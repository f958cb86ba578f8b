"""Modules that are there for their names in PyTorch: `table.py` says where what is in them has its home.

They are made when they are imported, by a finder of the import system. Such a module differs in nothing from one in a
file: it has its own variables, and `__all__` are the names that it takes from elsewhere.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..absent import lacking, placeholder
from .table import FACES, Face

_ROOT = __package__.rpartition(".")[0]
_OF_ALL = ("__allow_nonbracketed_mutation", "disable_global_flags", "flags_frozen")


def room(name: str) -> ModuleType:
    """The module of this name below the package; the package itself without one."""
    return importlib.import_module(f"{_ROOT}.{name}" if name else _ROOT)


def places(homes: str) -> Iterator[tuple[str, str, str]]:
    """Each name, the module where it has its home, and its name there; of `*`, all that are public there."""
    for line in homes.split(";"):
        home, _, names = line.partition(":")
        for pair in names.split():
            name, _, there = pair.partition("=")
            if name != "*":
                yield name, home.strip(), there or name
                continue
            for each in room(home.strip()).__all__:
                yield each, home.strip(), each


def _taken(homes: str) -> dict[str, Any]:
    return {name: getattr(room(home), there) for name, home, there in places(homes)}


class _Maker(Loader):
    """Makes the module of a face."""

    def __init__(self, face: Face) -> None:
        self.face = face

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        face, taken = self.face, _taken(self.face.homes)
        name = module.__name__.replace(_ROOT, "torch", 1)
        taken.update({absent: placeholder(name, absent) for absent in face.absent.split()})
        shown = f"`{name}`: {face.doc}".removesuffix(": ")
        vars(module).update(taken, **face.variables, __doc__=shown, __all__=[n for n in taken if n[:2] != "__"])
        if face.switches is not None:
            from .libraries import switches

            module.set_flags, module.flags = switches(vars(module), **face.switches)  # type: ignore[attr-defined]
        if name.endswith("config"):
            from .testers import patching

            module.patch = patching(vars(module))  # type: ignore[attr-defined]
        if any(name.startswith(module.__name__.removeprefix(f"{_ROOT}.") + ".") for name in FACES):
            module.__getattr__ = later(module.__name__)  # type: ignore[method-assign]


class _Finder(MetaPathFinder):
    """Knows the modules that have no file."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        root, _, rest = name.partition(".")
        face = FACES.get(rest) if root == _ROOT else None
        if face is None:
            return None
        package = any(other.startswith(f"{rest}.") for other in FACES)
        return ModuleSpec(name, _Maker(face), is_package=package)


def later(package: str, *modules: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose faces, and some modules, are loaded when they are first used."""
    inside = f"{package.removeprefix(f'{_ROOT}.')}."
    return lacking(package, {*modules, *[face.removeprefix(inside) for face in FACES if face.startswith(inside)]})


def install() -> None:
    """Let the modules be found, and make the package of backends that of PyTorch's switches too."""
    sys.meta_path.insert(0, _Finder())  # before folders: one that an older version left behind would count as a module
    from .. import backends
    from . import libraries

    more = {name: getattr(libraries, name) for name in _OF_ALL}
    vars(backends).update(more, fp32_precision="none", __getattr__=later(backends.__name__))
    libraries.freezable(vars(backends), frozenset(("fp32_precision",)))
