"""The names of torch that a program mentions, and which of them torchlite lacks: what `--strict-names` asks first."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from types import ModuleType

from .missing import explanation
from .naming import is_torch, own_name


def complaints(source: bytes, filename: str) -> list[str]:
    """A line for each name of torch that a program's text mentions and torchlite lacks."""
    first: dict[str, int] = {}
    for name, line in sorted(_mentioned(ast.parse(source, filename)), key=lambda mention: mention[1]):
        lacking = _lacking(name)
        if lacking is not None:
            first.setdefault(lacking, line)
    return [f"{filename}:{line}: {explanation(name)}" for name, line in first.items()]


def _mentioned(tree: ast.AST) -> Iterator[tuple[str, int]]:
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if is_torch(name.name):
                    bound[name.asname or "torch"] = name.name if name.asname else "torch"
                    yield name.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and not node.level and is_torch(node.module or ""):
            for name in node.names:
                if name.name != "*":
                    bound[name.asname or name.name] = whole = f"{node.module}.{name.name}"
                    yield whole, node.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            root, _, rest = ast.unparse(node).partition(".")
            if root in bound:
                yield f"{bound[root]}.{rest}", node.lineno


def _lacking(name: str) -> str | None:
    """The shortest beginning of a dotted name that leads nowhere."""
    at: object = importlib.import_module("torchlite")
    parts = name.split(".")
    for count, part in enumerate(parts[1:], 2):
        if not isinstance(at, ModuleType | type):
            return None  # what values have is seen when it is used
        so_far = ".".join(parts[:count])
        if not hasattr(at, part) and isinstance(at, ModuleType):
            try:
                importlib.import_module(own_name(so_far))
            except ModuleNotFoundError:
                return so_far
        try:
            at = getattr(at, part)
        except AttributeError:
            return so_far
    return None
