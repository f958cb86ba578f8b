"""The names of torch that a program's text mentions, and which of them torchlite lacks."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

from ..absent import explanation
from .borrowed import borrowed
from .naming import is_torch, own_name, torch_name

_NOWHERE = object()
_EXPECTED = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}


class Mention(NamedTuple):
    name: str
    line: int
    optional: bool
    """Whether the program has an answer where there is no such name."""


def complaints(source: str | bytes, filename: str) -> list[str]:
    """A line for each name of torch that a program's text mentions and torchlite lacks: what `--strict-names` asks."""
    first: dict[str, int] = {}
    for name, line, _ in sorted(mentioned(ast.parse(source, filename)), key=lambda mention: mention.line):
        absent = lacking(name)
        if absent is not None:
            first.setdefault(absent, line)
    return [f"{filename}:{line}: {explanation(name)}" for name, line in first.items()]


def mentioned(tree: ast.AST) -> Iterator[Mention]:
    """What a text names of torch: in imports, and in attributes of what it imported."""
    bound: dict[str, str] = {}
    places = list(_places(tree, False))
    for node, optional in places:
        for written, meant, name in _imported(node):
            bound[written] = meant
            yield Mention(name, node.lineno, optional)  # type: ignore[attr-defined]  # a statement
    asked = set(_asked(tree, bound))
    for node, optional in places:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            whole = _whole(node, bound)
            if whole is not None:
                yield Mention(whole, node.lineno, optional or whole in asked)


def _imported(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """For each name that an import binds: the name, what it means then, and what was imported."""
    if isinstance(node, ast.Import):
        for each in node.names:
            root = each.name.partition(".")[0]
            if is_torch(root):
                yield each.asname or root, each.name if each.asname else root, each.name
    elif isinstance(node, ast.ImportFrom) and not node.level and is_torch(node.module or ""):
        for each in node.names:
            if each.name != "*":
                whole = f"{node.module}.{each.name}"
                yield each.asname or each.name, whole, whole


def _whole(node: ast.AST, bound: dict[str, str]) -> str | None:
    """The dotted name of torch that an expression is."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in bound:
        return ".".join((bound[node.id], *reversed(parts)))
    return None


def _places(node: ast.AST, optional: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Every node, and whether it stands where a name may be missing."""
    yield node, optional
    for field, value in ast.iter_fields(node):
        spared = optional or (field == "body" and _spares(node))
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST):
                yield from _places(child, spared)


def _spares(node: ast.AST) -> bool:
    """Whether the body of a statement is not run where a name is missing, or goes on."""
    if isinstance(node, ast.Try):
        caught = [part for handler in node.handlers for part in ast.walk(handler.type or ast.Name("Exception"))]
        return any(isinstance(part, ast.Name) and part.id in _EXPECTED for part in caught)
    return isinstance(node, ast.If) and ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"


def _asked(tree: ast.AST, bound: dict[str, str]) -> Iterator[str]:
    """The names that a text asks for with `hasattr` or `getattr`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr"):
            where, name = (*node.args, None, None)[:2]
            home = where and _whole(where, bound)
            if home and isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield f"{home}.{name.value}"


def lacking(name: str) -> str | None:
    """The shortest beginning of a dotted name that leads nowhere."""
    at: object = importlib.import_module("torchlite")
    parts = name.split(".")
    for count, part in enumerate(parts[1:], 2):
        if not isinstance(at, ModuleType | type):
            return None  # what values have is seen when it is used
        so_far = ".".join(parts[:count])
        found = _member(at, part, so_far)
        if found is _NOWHERE:
            return so_far
        at = found
    return None


def _member(at: object, part: str, name: str) -> object:
    if isinstance(at, ModuleType) and not hasattr(at, part):
        try:
            return importlib.import_module(own_name(name))
        except ModuleNotFoundError:
            return borrowed(torch_name(at.__name__), part) or _NOWHERE
    return getattr(at, part, _NOWHERE)
