"""Where a name that a module knows has its home, read off the import statements of the sources."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import importlib.util
from pathlib import Path
from typing import NamedTuple


class Home(NamedTuple):
    """A module, and the name there; no name where it is the module that is meant."""

    module: str
    name: str = ""


_ROOT = Path(__file__).parent.parent.parent
# Modules that PyTorch has no name for.
OWN = frozenset((
    "absent", "alias", "checks", "constants", "core", "exceptions", "faces", "kernels", "operations", "stubs", "viz",
))  # fmt: skip
Definition = ast.FunctionDef | ast.ClassDef


@functools.cache
def _tree(module: str) -> tuple[ast.Module, str]:
    """The parsed source of a module, and the package against which its imports are resolved."""
    file = _file(module)
    if file is None:
        return ast.Module([], []), module
    return ast.parse(file.read_text()), module if file.name == "__init__.py" else module.rpartition(".")[0]


def _file(module: str) -> Path | None:
    """The source of a module of the library."""
    path = _ROOT.joinpath(*module.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.exists()), None)


@functools.cache
def imports(module: str) -> tuple[dict[str, Home], list[str]]:
    """What a module imports by name, for types too, and of which modules it takes everything."""
    tree, package = _tree(module)
    named: dict[str, Home] = {}
    stars = []
    for node in [inner for outer in tree.body for inner in (outer.body if isinstance(outer, ast.If) else [outer])]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                named[alias.asname or alias.name.partition(".")[0]] = Home(alias.name)
        elif isinstance(node, ast.ImportFrom):
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                if alias.name == "*":
                    stars.append(source)
                else:
                    named[alias.asname or alias.name] = Home(source, alias.name)
    return named, stars


@functools.cache
def defined(module: str) -> dict[str, Definition]:
    """The functions and classes whose definitions stand in a module."""
    return {node.name: node for node in _tree(module)[0].body if isinstance(node, Definition)}


def made(module: str) -> set[str]:
    """The public names that a module defines, or assigns a value to."""
    body = _tree(module)[0].body
    targets = [at for node in body if isinstance(node, ast.Assign) for at in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    names = {*defined(module), *[at.id for at in targets if isinstance(at, ast.Name)]}
    return {name for name in names if not name.startswith("_")}


def home(module: str, name: str) -> Home:
    """Where `name`, as `module` knows it, is defined."""
    named, stars = imports(module)
    if name in named:
        source, there = named[name]
        if not there or not source.startswith("torchlite"):
            return named[name]
        if _file(f"{source}.{there}"):
            return Home(f"{source}.{there}")
        return home(source, there)
    if name not in defined(module):
        for source in stars:
            known = vars(importlib.import_module(source))
            if name in known.get("__all__", known):
                return home(source, name)
        if hasattr(builtins, name) and name not in vars(importlib.import_module(module)):
            return Home("builtins", name)
    return Home(module, name)


def children(package: str) -> list[str]:
    """The public modules in the folder of a package."""
    file = _file(package)
    if file is None or file.name != "__init__.py":
        return []
    stems = {path.stem for path in file.parent.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    return [name for name in stems if not name.startswith("_") and not (package == "torchlite" and name in OWN)]


def module_of(function: object) -> str:
    """The module in whose words a function is annotated; an empty name where it has no source."""
    behind = getattr(function, "general", None) or getattr(function, "__wrapped__", None)
    if behind is not None:
        return module_of(behind)
    return getattr(function, "__globals__", {}).get("__name__", "")
