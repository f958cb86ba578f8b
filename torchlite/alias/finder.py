"""Finds `torch.x.y` as `torchlite.x.y`: one module with two names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from ..absent import explanation
from .naming import SITE, inside, is_torch, own_name

if TYPE_CHECKING:
    from .layer import Alias


_TESTERS = ("torch.testing._internal",)


class Finder:
    """Stands first in `sys.meta_path` while the alias is on."""

    def __init__(self, alias: Alias) -> None:
        self.alias = alias

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.startswith("torchlite."):
            spec = PathFinder.find_spec(name, path)
            if spec is not None and type(spec.loader) is SourceFileLoader:
                spec.loader = _Adopting(self.alias, spec.loader)
            return spec
        if not (self.alias.everywhere and is_torch(name)):
            return None
        if inside(name, _TESTERS):
            return _tester_of_pytorch(name, path)
        own = _own_spec(name)
        if own is not None:
            package = own.submodule_search_locations is not None
            return ModuleSpec(name, _SecondName(self.alias, own), origin=own.origin, is_package=package)
        if sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return None  # somebody wants to know whether there is such a module
        self.alias.missing[name] += 1
        if self.alias.lazy and not _for_a_name():
            return ModuleSpec(name, _Empty(self.alias), is_package=True)
        raise ModuleNotFoundError(explanation(name, f"No module named {name!r}: "), name=name)

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Tell those who see the alias that torch is installed."""
        if context.name != "torch" and (self.alias.everywhere or context.name is not None):
            return  # a list of all finds it on the path, where everyone sees it
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals["__name__"].startswith("importlib"):
            frame = frame.f_back
        if self.alias.serves(frame.f_globals["__name__"]):
            yield from map(importlib.metadata.PathDistribution, Path(SITE).glob("torch-*.dist-info"))


def _tester_of_pytorch(name: str, path: Any) -> ModuleSpec | None:
    """Where an installed PyTorch has a module that its own tests are written with, to test torchlite by them."""
    if name == _TESTERS[0]:
        installed = [folder for folder in sys.path if folder != SITE]
        real = PathFinder.find_spec("torch", installed)
        path = [str(Path(folder, "testing")) for folder in (real and real.submodule_search_locations) or ()]
    return PathFinder.find_spec(name, path)


def _for_a_name() -> bool:
    """Whether a module is looked for because `from torch import …` found no such name."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "_handle_fromlist":
        if not frame.f_globals.get("__name__", "").startswith("importlib"):
            return False
        frame = frame.f_back
    return frame is not None


def _own_spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(own_name(name))
    except ModuleNotFoundError:  # of a package that it would be in
        return None


class _Adopting(SourceFileLoader):
    """Loads a module of torchlite while the alias is on."""

    def __init__(self, alias: Alias, loader: SourceFileLoader) -> None:
        super().__init__(loader.name, loader.path)
        self.alias = alias

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        self.alias.adopt(module)


class _SecondName(Loader):
    def __init__(self, alias: Alias, own: ModuleSpec) -> None:
        self.alias = alias
        self.own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(self.own.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.own  # which importing under a second name has replaced
        self.alias.adopt(module)


class _Empty(Loader):
    """Stands for a module that torchlite lacks: whatever is in it is a placeholder."""

    def __init__(self, alias: Alias) -> None:
        self.alias = alias

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.alias.stand_in(module)
