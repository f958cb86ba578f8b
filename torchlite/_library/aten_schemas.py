"""The schemas of `torch.ops.aten`'s overloads, as the declarations of the ops say them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core.declare import Signature, ViewOp, signatures_of
from ..core.machine.registry import functions, registry
from .schema import FunctionSchema, parse_schema

_NUMBERS = frozenset(("Scalar", "ScalarSelf", "Tensor_Scalar", "Scalar_mode"))


@functools.cache
def overloads() -> dict[str, list[str]]:
    """The overloads that PyTorch's functions have there, in their order."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in Path(__file__).with_name("aten_overloads.txt").read_text().splitlines():
        if line.startswith(" "):
            found |= dict.fromkeys(line.split(), names)
        else:
            names = line.split()
    return found


def schema_of(name: str, overload: str, function: Callable[..., Any]) -> FunctionSchema:
    """What an overload is called by; `function` is what is called for it."""
    writes = name.endswith("_") and not name.endswith("__")
    into = overload == "out" or overload.endswith("_out")  # to a tensor that is given
    base = ("" if overload == "out" else overload.removesuffix("_out")) if into else overload
    signature, view = _declared(name.removesuffix("_") if writes else name, base or "default", function)
    arguments, starred = [], False
    for at, param in enumerate(signature.params):
        if param.kwonly and not starred:
            arguments.append("*")
            starred = True
        mark = ("(a!)" if writes else "(a)" if view else "") if not at else ""
        arguments.append(_argument(param, base, mark))
    if into:
        arguments += ["Tensor(a!) out"] if starred else ["*", "Tensor(a!) out"]
    mark = "(a!)" if writes or into else "(a)" if view else ""
    results = [f"Tensor{mark} {n}".strip() for n in signature.returns or [""]]
    listed = results[0] if len(results) == 1 else f"({', '.join(results)})"
    dotted = "" if overload == "default" else f".{overload}"
    return parse_schema(f"aten::{name}{dotted}({', '.join(arguments)}) -> {listed}")


def _declared(name: str, overload: str, function: Callable[..., Any]) -> tuple[Signature, bool]:
    """The signature of an overload, and whether it is that of a view."""
    named = [op for op in registry.values() if op.signature.name == name]
    exact = [op for op in named if (op.signature.overload or "default") == overload]
    for op in (*exact, *named):
        return op.signature, isinstance(op, ViewOp) or op.name == "detach"
    told = next((f for f in (function, functions.get(name)) if hasattr(getattr(f, "general", f), "__wrapped__")), None)
    return (Signature(f"{name}()") if told is None else signatures_of(told)[0]), False


def _argument(param: Any, overload: str, mark: str) -> str:
    """One argument, in a schema's words."""
    kind = {"any": "Any", "Operand": "Scalar" if overload in _NUMBERS else "Tensor"}.get(param.type, param.type)
    length = f"[{param.repeats if param.single else ''}]" if param.sequence else ""
    default = "" if param.required else f"={_default(param.default)}"
    return f"{kind}{mark}{length}{'?' if param.optional else ''} {param.name}{default}"


def _default(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else repr(value)
