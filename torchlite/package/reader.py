"""Loading packages: their modules are modules of their own, whatever else is installed."""

from __future__ import annotations

import builtins
import importlib
import io
import itertools
import operator
import pickle
import zipfile
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..core.memory import TypedStorage, UntypedStorage
from ..serialization import allowed
from ..serialization.interpreter import present_name
from ..serialization.locations import checked, restorer
from ..serialization.storages import named, true_or_false
from .globs import Directory, GlobPattern, tree
from .importers import Importer, demangled

_numbers = itertools.count()


class _Unpickler(pickle._Unpickler):
    importer: PackageImporter
    restore: Callable[[Any, str], Any]

    def persistent_load(self, saved: Any) -> TypedStorage:
        return self.importer._storage(saved, self.restore)

    def find_class(self, module: str, name: str) -> Any:
        module, name = present_name(module, name)
        try:
            return allowed.lookup(f"{module}.{name}")
        except KeyError:
            return operator.attrgetter(name)(self.importer.import_module(module))


class PackageImporter(Importer):
    """Loads modules, pickles and other files from a package.

    Its modules see one another, and of all others those that were left out as `extern`. Their names begin with
    that of the package, so that two versions of one module can be loaded side by side.
    """

    def __init__(self, file_or_buffer: Any, module_allowed: Callable[[str], bool] = lambda module_name: True) -> None:
        self.filename = str(file_or_buffer) if isinstance(file_or_buffer, (str, Path)) else "<binary>"
        self._zip = zipfile.ZipFile(file_or_buffer)
        names = [info.filename for info in self._zip.infolist() if not info.is_dir()]
        self._top = names[0].partition("/")[0] if names else ""
        self._files = {name.partition("/")[2] for name in names}
        self._id = f"<torch_package_{next(_numbers)}>"
        self.root_name = self._id
        self.modules: dict[str, ModuleType] = {}
        self._storages: dict[str, TypedStorage] = {}
        self.extern_modules = self._read(".data/extern_modules").decode().split("\n")
        for name in filter(None, self.extern_modules):
            if not module_allowed(name):
                raise ImportError(
                    f"package '{self.filename}' needs the external module '{name}' but that module has been disallowed "
                    "by the module_allowed filter"
                )
        self.patched_builtins = {**vars(builtins), "__import__": self.__import__}

    def _read(self, path: str) -> bytes:
        return self._zip.read(f"{self._top}/{path}")

    def id(self) -> str:
        """The name of this package, which is different for each that is loaded."""
        return self._id

    def file_structure(self, *, include: GlobPattern = "**", exclude: GlobPattern = ()) -> Directory:
        """The files in the package that match, as a tree."""
        return tree(self.filename, self._files, include, exclude)

    def python_version(self) -> str | None:
        """The version of Python with which the package was written."""
        path = ".data/python_version"
        return self._read(path).decode().strip() if path in self._files else None

    # ---- modules

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """A module of the package, or one that it leaves to others."""
        name = demangled(resolve_name(name, package) if package is not None else name)
        found = self.modules.get(name)
        if found is not None:
            return found
        if any(name == extern or name.startswith(f"{extern}.") for extern in self.extern_modules if extern):
            return importlib.import_module(name)
        parent, _, last = name.rpartition(".")
        if parent:
            self.import_module(parent)
            if name in self.modules:
                return self.modules[name]
        module = self._load(name)
        if parent and parent in self.modules:
            setattr(self.modules[parent], last, module)
        return module

    def _path(self, name: str) -> tuple[str | None, bool]:
        """The file of a module, if it has one, and whether it is a package."""
        base = name.replace(".", "/")
        if f"{base}/__init__.py" in self._files:
            return f"{base}/__init__.py", True
        if f"{base}.py" in self._files:
            return f"{base}.py", False
        if any(file.startswith(f"{base}/") for file in self._files):
            return None, True
        raise ModuleNotFoundError(
            f'No module named "{name}" in self-contained archive "{self.filename}" and the module is also not in the '
            f"list of allowed external modules: {self.extern_modules}",
            name=name,
        )

    def _load(self, name: str) -> ModuleType:
        path, is_package = self._path(name)
        mangled = f"{self._id}.{name}"
        module = self.modules[name] = ModuleType(mangled)
        module.__spec__ = ModuleSpec(name, self, origin="<package_importer>", is_package=is_package)  # type: ignore[arg-type]
        more = {"__path__": [f"{self._id}.{name.replace('.', '/')}"]} if is_package else {}
        vars(module).update(
            more, __loader__=self, __torch_package__=True, __builtins__=self.patched_builtins,
            __package__=mangled if is_package else mangled.rpartition(".")[0],
            __file__=f"{self._id}.{path or name}",
        )  # fmt: skip
        if path is not None:
            try:
                exec(compile(self._read(path), f"{self._id}.{path}", "exec", dont_inherit=True), vars(module))
            except BaseException:
                del self.modules[name]
                raise
        return module

    def get_source(self, module_name: str) -> str:
        """The source of a module of the package."""
        path, _ = self._path(demangled(module_name))
        return "" if path is None else self._read(path).decode()

    def __import__(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        """What `import` does in modules of the package."""
        if level:
            name = resolve_name("." * level + name, (globals or {})["__package__"])
        module = self.import_module(name)
        if not fromlist:
            return module if level else self.import_module(demangled(name).partition(".")[0])
        if hasattr(module, "__path__"):
            wanted = getattr(module, "__all__", ()) if "*" in fromlist else fromlist
            for each in wanted:
                if not hasattr(module, each):
                    try:
                        self.import_module(f"{demangled(module.__name__)}.{each}")
                    except ModuleNotFoundError:
                        continue  # which the statement says itself
        return module

    # ---- files

    def _resource(self, package: str, resource: str) -> bytes:
        self.import_module(package)
        return self._read(f"{demangled(package).replace('.', '/')}/{resource}")

    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes of a file."""
        return self._resource(package, resource)

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text of a file."""
        return self._resource(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """The object of a pickle, whose classes are those of the package."""
        unpickler = _Unpickler(io.BytesIO(self._resource(package, resource)))
        unpickler.importer = self
        unpickler.restore = restorer(map_location)
        return unpickler.load()

    def _storage(self, saved: Any, restore: Callable[[Any, str], Any]) -> TypedStorage:
        kind, key, location, _, _ = named((*saved[:2], str(saved[2]), *saved[3:]), 5)
        if key not in self._storages:
            name = key if key.endswith(".storage") else f"{key}.storage"
            memory = np.frombuffer(bytearray(self._read(f".data/{name}")), np.uint8)
            memory = true_or_false(memory) if kind.dtype.name == "bool" else memory
            raw = checked(restore(UntypedStorage.over(memory), location))
            self._storages[key] = TypedStorage(wrap_storage=raw, dtype=kind.dtype)
        return self._storages[key]
