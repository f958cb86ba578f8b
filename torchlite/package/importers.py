"""Who knows which module an object is in: the interpreter, packages, and several of them in turn."""

from __future__ import annotations

import importlib
import operator
import pickle
import re
from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any

from ..core.values import Told

_MANGLED = re.compile(r"<torch_package_\d+>")


def is_mangled(name: str) -> bool:
    """Whether this is the name of a module in a package."""
    return _MANGLED.match(name) is not None


def demangled(name: str) -> str:
    """The name that a module has inside of its package."""
    return name.partition(".")[2] if is_mangled(name) else name


def is_from_package(obj: Any) -> bool:
    """Whether an object, or its class, was loaded from a package."""
    return is_mangled(obj.__name__ if isinstance(obj, ModuleType) else type(obj).__module__)


class ObjNotFoundError(Told, Exception):
    """An importer has no object of this name."""


class ObjMismatchError(Told, Exception):
    """An importer has another object of the same name."""


class Importer(ABC):
    """What imports modules, and says of an object where it can be imported from."""

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str) -> ModuleType:
        """A module, as `importlib.import_module` gives it."""

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """The module of an object, and its name there."""
        if name is None:
            name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or str(obj.__reduce__())
        module = demangled(self.whichmodule(obj, name))
        try:
            found = operator.attrgetter(name)(self.import_module(module))
        except (ImportError, KeyError, AttributeError):
            raise ObjNotFoundError(f"{obj} was not found as {module}.{name}") from None
        if found is obj:
            return module, name
        raise ObjMismatchError(f"{obj} is not the object that this importer has as {module}.{name}: that is {found}")

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module that an object is of."""
        return str(pickle.whichmodule(obj, name))  # type: ignore[attr-defined]


class _SysImporter(Importer):
    """The interpreter's own import system."""

    def import_module(self, module_name: str) -> ModuleType:
        return importlib.import_module(module_name)


sys_importer = _SysImporter()


class OrderedImporter(Importer):
    """Several importers, each of which is asked where those before it do not know."""

    def __init__(self, *args: Importer) -> None:
        self._importers = list(args)

    def import_module(self, module_name: str) -> ModuleType:
        failed: Exception | None = None
        for importer in self._importers:
            if not isinstance(importer, Importer):
                raise TypeError(f"{importer} is not a Importer. All importers in OrderedImporter must inherit from it.")
            try:
                return importer.import_module(module_name)
            except ModuleNotFoundError as error:
                failed = error
        raise failed or ModuleNotFoundError(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        named = (importer.whichmodule(obj, name) for importer in self._importers)
        return next((module for module in named if module != "__main__"), "__main__")

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """The module of an object, and its name there, as the first importer knows that has this very object."""
        failed: Exception | None = None
        for importer in self._importers:
            try:
                return importer.get_name(obj, name)
            except (ObjNotFoundError, ObjMismatchError) as error:
                failed = error
        raise failed or ObjNotFoundError(f"{obj} was not found")
