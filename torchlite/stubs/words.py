"""Types of parameters and results, as stubs have them.

Whatever annotations name is imported with an underscore before it: names such as `float` are torch's own in a stub.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable

from ..core.declare.schema import Param, Signature
from .origins import Home, defined, home, module_of

_TYPES = {
    "Tensor": "_Tensor", "Operand": "_Tensor | _complex", "Scalar": "_complex", "int": "_int", "float": "_float",
    "bool": "_bool", "str": "_str", "ScalarType": "_dtype", "Device": "_DeviceLike", "Layout": "_layout",
    "MemoryFormat": "_memory_format", "Generator": "_Generator", "any": "_Any",
}  # fmt: skip
_HOMES = {
    "Any": Home("typing", "Any"),
    "NamedTuple": Home("typing", "NamedTuple"),
    "TensorBase": Home("torchlite.core.structs", "TensorParts"),  # which is a Tensor to type checkers
    "overload": Home("typing", "overload"),
    "DeviceLike": Home("torchlite.core.values.arrays", "DeviceLike"),
    "Generator": Home("torchlite.core.machine.generator", "Generator"),
    "Sequence": Home("collections.abc", "Sequence"),
    "Tensor": Home("torchlite.core.machine.tensor", "Tensor"),
    "dtype": Home("torchlite.core.values.dtype", "dtype"),
    "layout": Home("torchlite.core.values.layout", "layout"),
    "memory_format": Home("torchlite.core.values.layout", "memory_format"),
    "return_types": Home("torchlite", "return_types"),
} | {name: Home("builtins", name) for name in ("bool", "complex", "float", "int", "property", "str", "tuple")}


class Words(ast.NodeTransformer):
    """Turns annotations and schemas into a stub's words, and keeps what the stub must import for them."""

    def __init__(self, own: str) -> None:
        self.own = own
        self.homes: dict[str, Home] = {}
        self.module = ""

    def imports(self) -> list[str]:
        lines = []
        for alias, (module, name) in sorted(self.homes.items()):
            taken = f"from {module} import {name} as {alias}" if name else f"import {module} as {alias}"
            lines.append(f"{alias} = {name}" if module == self.own else taken)
        return lines

    def known(self, word: str) -> str:
        """One of the words that schemas are told in."""
        for name, where in _HOMES.items():
            if f"_{name}" in word:
                self.homes[f"_{name}"] = where
        return word

    def annotation(self, text: object, module: str) -> str:
        """An annotation that stands in a module."""
        if not isinstance(text, str):
            return self.known("_Any")
        self.module = module
        return ast.unparse(self.visit(ast.parse(text, mode="eval").body))

    def visit_Name(self, node: ast.Name) -> ast.Name:
        where = _HOMES[node.id] if node.id == "TensorBase" else home(self.module, node.id)
        if where.name.startswith("_"):
            where = Home(self.module, node.id)
        return ast.Name(self.name(node.id, where))

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str):  # a name in quotes
            return self.visit(ast.parse(node.value, mode="eval").body)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        literal = isinstance(node.value, ast.Name) and node.value.id == "Literal"
        return ast.Subscript(self.visit(node.value), node.slice if literal else self.visit(node.slice))

    def value(self, value: object) -> str:
        """The type of a variable."""
        if value is None:
            return "None"
        kind = type(value)
        if kind.__name__ == "module":
            return self.known("_Any")
        if kind.__name__ in _HOMES:
            return self.known(f"_{kind.__name__}")
        module = inspect.getmodule(kind)
        where = module and home(module.__name__, kind.__name__)
        readable = where and (where.module == "builtins" or where.name in defined(where.module))
        return self.name(where.name, where) if where and readable else self.known("_Any")

    def result_of(self, f: Callable[..., object]) -> str:
        """What a property gives: a view of the tensor where it says nothing."""
        given = inspect.signature(f).return_annotation
        return self.known("_Tensor") if given is inspect.Signature.empty else self.annotation(given, module_of(f))

    def name(self, name: str, where: Home) -> str:
        """How a stub calls what has its home there."""
        alias = "_" + name.lstrip("_")
        if self.homes.setdefault(alias, where) != where:
            raise ValueError(f"{name} is both {where} and {self.homes[alias]}")
        return alias

    def parameter(self, p: Param) -> str:
        kind = _TYPES[p.type]
        if p.sequence:
            kind = f"_Sequence[{kind}]" + (f" | {kind}" if p.single else "")
        return self.known(kind + (" | None" if p.optional and p.type != "any" else ""))

    def result(self, signature: Signature) -> str:
        """What a schema gives."""
        told = signature.text.partition("->")[2].strip()
        if told.startswith("("):
            names = signature.returns
            if names[0] == "result0":
                return self.known(f"_tuple[{', '.join(['_Tensor'] * len(names))}]")
            return self.known(f"_return_types.{signature.name}")
        return self.known({"": "_Tensor", "Tensor[]": "_tuple[_Tensor, ...]"}.get(told) or _TYPES[told])


def default(value: object) -> str:
    """A default as it stands in a stub."""
    if value is None or type(value) in (bool, int, str) or value in ((), []):
        return repr(value)
    return "..."


def united(texts: Iterable[str]) -> list[str]:
    """Without those that were there before."""
    return list(dict.fromkeys(texts))
