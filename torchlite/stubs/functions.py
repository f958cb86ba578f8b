"""A function or a method as the lines of a stub."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..core.declare.schema import Param, Signature
from ..core.declare.told import Told
from ..core.machine import takes_out
from .origins import module_of
from .words import Words, default, united

_OPERATOR = re.compile(
    "__(eq|ne|lt|le|gt|ge|neg|invert|abs|pos|"
    "[ri]?(add|sub|mul|truediv|floordiv|div|mod|pow|matmul|and|or|xor|lshift|rshift))__"
)


def told_of(f: Any) -> Told | None:
    """By which schemas a public function binds its arguments, if by any."""
    at = getattr(f, "general", f)
    while not isinstance(at, Told):
        if not hasattr(at, "__wrapped__"):
            return None
        at = at.__wrapped__
    return at


def lines(words: Words, name: str, f: Callable[..., Any], method: bool = False) -> list[str]:
    """`def name(...) -> ...: ...`, once for each overload."""
    told = told_of(f)
    if method and _OPERATOR.fullmatch(name):
        headers = [_operator(words, name)]
    elif told is not None:
        headers = united(_headers(words, told, method))
    elif module_of(f):
        headers = [_annotated(words, f)]
    else:
        return [f"{name}: {words.known('_Any')}"]
    mark = ["@" + words.known("_overload")] if len(headers) > 1 else []
    return [line for header in headers for line in [*mark, f"def {name}{header}: ..."]]


def _operator(words: Words, name: str) -> str:
    operands = "self" if name in ("__neg__", "__invert__", "__abs__", "__pos__") else "self, other: _Any"
    return words.known(f"({operands}) -> _Tensor")


def _headers(words: Words, told: Told, method: bool) -> Iterator[str]:
    signatures, bound, out, spread = told
    for s in signatures:
        writes = not bound and (takes_out(s.name) if out is None else out)
        result = words.result(s)
        if spread or (method and s.variadic):
            yield _schema(words, s, method, writes, result, spread=True)
        yield _schema(words, s, method, writes, result, spread=False)


def _schema(words: Words, s: Signature, method: bool, out: bool, result: str, spread: bool) -> str:
    """A schema's parameters; those after one that may be left out may be, too."""
    first = method
    parts: list[str] = []
    named: list[str] = []
    optional = False
    for p in s.params:
        if first:
            parts.append("self")
            first = False
        elif spread and p.sequence:
            parts.append(f"*{_name(p)}: {words.known('_int')}")
        else:
            optional = optional or (not p.required and not p.kwonly)
            value = f" = {default(p.default)}" if not p.required else " = ..." if optional and not p.kwonly else ""
            into = named if p.kwonly or any(part.startswith("*") for part in parts) else parts
            into.append(f"{_name(p, method)}: {words.parameter(p)}{value}")
    if out and not any(p.name == "out" for p in s.params):
        named.append(f"out: {'_Any' if result != '_Tensor' else words.known('_Tensor | None')} = None")
        words.known(named[-1])
    star = ["*"] if named and not any(part.startswith("*") for part in parts) else []
    return f"({', '.join([*parts, *star, *named])}) -> {result}"


def _name(p: Param, method: bool = False) -> str:
    return "input" if p.name == "self" and not method else "from_" if p.name == "from" else p.name


def _annotated(words: Words, f: Callable[..., Any]) -> str:
    """The header of a function that is written in Python."""
    signature = inspect.signature(f)
    module = module_of(f)
    shown = []
    for i, p in enumerate(signature.parameters.values()):
        kind = "" if i == 0 and p.name in ("self", "cls") else ": " + words.annotation(p.annotation, module)
        value = "" if p.default is p.empty else f"{' = ' if kind else '='}{default(p.default)}"
        shown.append((p.kind, {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name + kind + value))  # type: ignore[call-overload]
    kinds = [kind for kind, _ in shown]
    parts = [text for _, text in shown]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    if inspect.Parameter.POSITIONAL_ONLY in kinds:
        parts.insert(1 + max(i for i, kind in enumerate(kinds) if kind is inspect.Parameter.POSITIONAL_ONLY), "/")
    return f"({', '.join(parts)}) -> {words.annotation(signature.return_annotation, module)}"
