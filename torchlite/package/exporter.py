"""Writing packages: code, pickles and other files, with all modules that they need."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import io
import pickle
import pickletools
import platform
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple

from ..core.values import Told
from ..serialization.pickler import StorageIds, _TorchPickler, host_bytes
from ..serialization.zip_writer import ZipWriter
from ..utils.hooks import RemovableHandle
from .globs import GlobGroup, GlobPattern
from .importers import (
    Importer,
    ObjMismatchError,
    ObjNotFoundError,
    OrderedImporter,
    demangled,
    is_mangled,
    sys_importer,
)

Hook = Callable[["PackageExporter", str], None]
_NEVER_IMPLIED = frozenset(("sys", "io"))
_UNMATCHED = "Module did not match against any action pattern. Extern, mock, or intern it."
_DENIED = "Module was denied by a pattern."
_NO_FILE = "Module had no __file__ defined."
_COMPILED = "Module is a C extension module. torch.package supports Python modules only."


class EmptyMatchError(Told, Exception):
    """A pattern that must match a module has matched none."""


class PackagingError(Exception):
    """Modules that a package needs could not be put into it."""

    def __init__(self, broken: dict[str, list[str]], debug: bool = False) -> None:
        self.broken = broken
        lines = [line for reason, names in broken.items() for line in (f"* {reason}", *[f"    {n}" for n in names])]
        where = "for a visualization of where broken modules are coming from!"
        hint = "" if debug else f"\nSet debug=True when invoking PackageExporter {where}\n"
        super().__init__("\n".join(["", *lines, hint]))


class _Pattern(NamedTuple):
    group: GlobGroup
    action: str
    must_match: bool


class _Pickler(_TorchPickler):
    """Writes what comes from other packages under its names there."""

    importer: Importer

    def save_global(self, obj: Any, name: Any = None) -> None:
        if not is_mangled(getattr(obj, "__module__", None) or ""):
            super().save_global(obj, name)
            return
        try:
            module, qualified = self.importer.get_name(obj, name)
        except (ObjNotFoundError, ObjMismatchError):
            where = f"{obj.__module__}.{name or obj.__qualname__}"
            raise pickle.PicklingError(f"Can't pickle {obj}: it's not found as {where}") from None
        self.write(pickle.GLOBAL + f"{module}\n{qualified}\n".encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]

    dispatch: ClassVar[dict[type, Any]] = {**_TorchPickler.dispatch, type: save_global, type(demangled): save_global}


def _imported(source: str, module: str, is_package: bool) -> Iterator[tuple[str, str | None]]:
    """What a module imports: modules, and names of which it is not known whether these are modules."""
    here = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, here or module)
            for alias in node.names:
                yield base, None if alias.name == "*" else alias.name


def _in_pickle(data: bytes) -> set[str]:
    """The modules that a pickle names."""
    return {arg.split(" ")[0] for code, arg, _ in pickletools.genops(data) if code.name == "GLOBAL" and arg}


class PackageExporter:
    """Writes a package: a zip file of code and data that needs nothing but what is `extern`.

    Every module that what is put in depends on is met by the first pattern that was declared for it: `intern` puts it
    in, `extern` leaves it to whoever loads the package, `mock` puts something in its place that fails when it is used,
    and `deny` refuses it. PyTorch and the standard library are extern by themselves.
    """

    def __init__(self, f: Any, importer: Importer | Sequence[Importer] = sys_importer, debug: bool = False) -> None:
        self.debug = debug
        self.importer = importer if isinstance(importer, Importer) else OrderedImporter(*importer)
        self._file, top = f, "archive"
        if isinstance(f, (str, Path)):
            self._file, top = Path(f).open("wb"), Path(f).stem  # noqa: SIM115
        self._writer = ZipWriter(self._file, top, 64, True)
        self._storages = StorageIds()
        self._patterns: list[_Pattern] = []
        self._matched: set[int] = set()
        self._found: dict[str, str] = {}  # modules -> "intern", "extern", "mock", or what is wrong with them
        self._edges: dict[tuple[str, str], None] = {}
        self._hooks: dict[str, OrderedDict[int, Hook]] = {name: OrderedDict() for name in ("intern", "extern", "mock")}
        self._next_id = 0

    # ---- what is put in

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Put a text into the package."""
        self.save_binary(package, resource, text.encode())

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Put bytes into the package."""
        self._writer.record(f"{package.replace('.', '/')}/{resource}", binary)

    def save_source_string(
        self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Put a module of this source into the package, and what it imports."""
        self._found[module_name] = "intern"
        self._write_module(module_name, src, is_package)
        if dependencies:
            self._follow(module_name, src, is_package)

    def save_source_file(self, module_name: str, file_or_directory: str, dependencies: bool = True) -> None:
        """Put the source of a file, or of all files in a folder, into the package as a module."""
        path = Path(file_or_directory)
        if not path.is_dir():
            self.save_source_string(module_name, path.read_text(), dependencies=dependencies)
            return
        for file in sorted(path.rglob("*.py")):
            *parts, last = (*module_name.split("."), *file.relative_to(path).with_suffix("").parts)
            package = last == "__init__"
            name = ".".join(parts if package else [*parts, last])
            self.save_source_string(name, file.read_text(), package, dependencies)

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Put a module that can be imported into the package."""
        if not isinstance(module_name, str):
            raise TypeError("save_module() expects a string input, did you perhaps mean to pass `__name__`?")
        self._intern(module_name, dependencies)

    def save_pickle(
        self, package: str, resource: str, obj: Any, dependencies: bool = True, pickle_protocol: int = 3
    ) -> None:
        """Put an object into the package, and the modules of all that is in it."""
        if pickle_protocol not in (3, 4):
            raise AssertionError(f"Pickle protocol must be 3 or 4, got {pickle_protocol}")
        buffer, place = io.BytesIO(), f"{package.replace('.', '/')}/{resource}"
        pickler = _Pickler(buffer, 3)
        pickler.importer, pickler.persistent_id = self.importer, self._storages  # type: ignore[method-assign]
        pickler.dump(obj)
        if dependencies:
            self._found[f"<{package}.{resource}>"] = "resource"
            for module in sorted(_in_pickle(buffer.getvalue())):
                self._depend(f"<{package}.{resource}>", module)
        self._writer.record(place, buffer.getvalue())

    def get_unique_id(self) -> str:
        """A number that this exporter gives once."""
        self._next_id += 1
        return str(self._next_id - 1)

    # ---- what is done with modules

    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules of these names are put into the package."""
        self._patterns.append(_Pattern(GlobGroup(include, exclude=exclude), "intern", not allow_empty))

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules of these names are imported from where the package is loaded."""
        self._patterns.append(_Pattern(GlobGroup(include, exclude=exclude), "extern", not allow_empty))

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules of these names are replaced by ones whose contents fail when they are used."""
        self._patterns.append(_Pattern(GlobGroup(include, exclude=exclude), "mock", not allow_empty))

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """Modules of these names may not be needed."""
        self._patterns.append(_Pattern(GlobGroup(include, exclude=exclude), _DENIED, False))

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Do with a module what the first pattern for it says."""
        if module_name in self._found:
            return
        root = module_name.partition(".")[0]
        if root == "torch" or (root in sys.stdlib_module_names and root not in _NEVER_IMPLIED):
            self._found[module_name] = "extern"
            return
        for at, pattern in enumerate(self._patterns):
            if pattern.group.matches(module_name):
                self._matched.add(at)
                if pattern.action == "intern":
                    self._intern(module_name, dependencies)
                else:
                    self._found[module_name] = pattern.action
                return
        self._found[module_name] = _UNMATCHED

    def _intern(self, module_name: str, dependencies: bool) -> None:
        module = self.importer.import_module(module_name)
        spec, file = module.__spec__, getattr(module, "__file__", None)
        loader: Any = getattr(module, "__loader__", None)
        if file is None and not hasattr(module, "__path__"):
            self._found[module_name] = _NO_FILE
            return
        if isinstance(loader, importlib.machinery.ExtensionFileLoader):
            self._found[module_name] = _COMPILED
            return
        self._found[module_name] = "intern"
        source = "" if file is None else loader.get_source(demangled(spec.name if spec else module_name))
        is_package = hasattr(module, "__path__")
        self._write_module(module_name, source or "", is_package)
        if dependencies:
            self._follow(module_name, source or "", is_package)

    def _write_module(self, name: str, source: str, is_package: bool) -> None:
        self._writer.record(name.replace(".", "/") + ("/__init__.py" if is_package else ".py"), source.encode())

    def _follow(self, module: str, source: str, is_package: bool) -> None:
        parent = module.rpartition(".")[0]
        if parent:
            self._depend(module, parent)
        for base, name in _imported(source, module, is_package):
            full = f"{base}.{name}"
            self._depend(module, full if name is not None and self._exists(full) else base)

    def _depend(self, user: str, module: str) -> None:
        if self._exists(module):
            self._edges[user, module] = None
            self.add_dependency(module)

    def _exists(self, module: str) -> bool:
        try:
            self.importer.import_module(module)
        except Exception:  # what fails on import is left to whoever imports it
            return False
        return True

    # ---- what was found

    def _with(self, action: str) -> list[str]:
        return sorted([name for name, found in self._found.items() if found == action])

    def externed_modules(self) -> list[str]:
        """The modules that are left to whoever loads the package."""
        return self._with("extern")

    def interned_modules(self) -> list[str]:
        """The modules that are in the package."""
        return self._with("intern")

    def mocked_modules(self) -> list[str]:
        """The modules that are replaced."""
        return self._with("mock")

    def denied_modules(self) -> list[str]:
        """The modules that may not be needed, and are."""
        return self._with(_DENIED)

    def get_rdeps(self, module_name: str) -> list[str]:
        """The modules that need a module."""
        if module_name not in self._found:
            return []
        return [user for user, used in self._edges if used == module_name]

    def dependency_graph_string(self) -> str:
        """Who needs whom, in the language of Graphviz."""
        return _graph(self._edges)

    def all_paths(self, src: str, dst: str) -> str:
        """All ways on which `src` needs `dst`, in the language of Graphviz."""
        after, before = self._reached(src, 0), self._reached(dst, 1)
        return _graph([edge for edge in self._edges if after.issuperset(edge) and before.issuperset(edge)])

    def _reached(self, start: str, end: int) -> set[str]:
        found, stack = {start}, [start]
        while stack:
            here = stack.pop()
            stack += [edge[1 - end] for edge in self._edges if edge[end] == here and edge[1 - end] not in found]
            found.update(stack)
        return found

    def _register(self, action: str, hook: Hook) -> RemovableHandle:
        handle = RemovableHandle(self._hooks[action])
        self._hooks[action][handle.id] = hook
        return handle

    def register_extern_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(exporter, module)` for every module that is left out."""
        return self._register("extern", hook)

    def register_mock_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(exporter, module)` for every module that is replaced."""
        return self._register("mock", hook)

    def register_intern_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(exporter, module)` for every module that is put in."""
        return self._register("intern", hook)

    # ---- the end

    def __enter__(self) -> PackageExporter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, traceback: TracebackType | None) -> None:
        if kind is None:
            self.close()

    def close(self) -> None:
        """Check that all is there, and write the rest."""
        broken: dict[str, list[str]] = {}
        for name, found in self._found.items():
            if found not in ("intern", "extern", "mock", "resource"):
                broken.setdefault(found, []).append(name)
        if broken:
            raise PackagingError(broken, self.debug)
        for at, pattern in enumerate(self._patterns):
            if pattern.must_match and at not in self._matched:
                raise EmptyMatchError(
                    f"Exporter did not match any modules to {pattern.group}, which was marked as allow_empty=False"
                )
        for name, action in self._found.items():
            for hook in self._hooks.get(action, {}).values():
                hook(self, name)
        mocked = self.mocked_modules()
        if mocked:
            self._write_module("_mock", Path(__file__).with_name("mocked.py").read_text(), False)
        for name in mocked:
            self._write_module(name, "from _mock import MockedObject\n__getattr__ = MockedObject._of(__name__)\n", True)
        for key, storage in self._storages.storages.items():
            self._writer.record(f".data/{key}.storage", host_bytes(storage).data)
        externs = [name for name, found in self._found.items() if found == "extern"]
        self._writer.record(".data/extern_modules", "".join([f"{name}\n" for name in externs]).encode())
        self._writer.record(".data/python_version", platform.python_version().encode())
        self._writer.record(".data/version", b"6\n")
        self._writer.finish()
        if isinstance(self._file, io.BufferedWriter):
            self._file.close()


def _graph(edges: Any) -> str:
    lines = [f'"{user}" -> "{used}";' for user, used in edges]
    return "\n".join(["digraph G {", "rankdir = LR;", "node [shape=box];", *lines, "}"]) + "\n"
