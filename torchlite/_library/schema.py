"""The schemas of operators: `namespace::name.overload(Tensor x, int n=2, *, Tensor? y=None) -> Tensor`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from ..core.machine import Tensor
from ..core.values.device import device
from ..core.values.dtype import NAMES, dtype

# Of each type of a schema: the classes that are given for it, and what PyTorch's messages call it.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "Tensor": ((Tensor,), "Tensor"),
    "SymInt": ((int,), "int"),
    "int": ((int,), "int"),
    "float": ((int, float), "float"),
    "bool": ((bool,), "bool"),
    "str": ((str,), "str"),
    "complex": ((int, float, complex), "complex"),
    "Scalar": ((int, float, complex), "number"),
    "ScalarType": ((dtype,), "int"),
    "Device": ((device, str), "Device"),
    "Layout": ((object,), "int"),
    "MemoryFormat": ((object,), "int"),
    "Generator": ((object,), "Generator"),
    "Any": ((object,), "Any"),
}
_ARGUMENT = re.compile(
    r"(?P<base>\w+)(?:\((?P<alias>[\w$]+)(?P<write>!)?[^)]*\))?(?P<marks>(?:\?|\[\d*\])*)(?:\s+(?P<name>\w+))?"
    r"(?:\s*=\s*(?P<default>.+))?$"
)
_WRITTEN = re.compile(rf"\b({'|'.join(_TYPES)})\s*!")  # what is written to, whoever shares its memory


class AliasInfo(NamedTuple):
    """With what an argument shares memory, and whether it is written to."""

    before_set: frozenset[str]
    after_set: frozenset[str]
    is_write: bool


class Argument(NamedTuple):
    """One argument, or result, of an operator."""

    base: str
    marks: str  # "?" admits None, "[]" is a list, "[2]" a list or one item for all
    name: str
    default: Any
    has_default: bool
    kwarg_only: bool
    is_write: bool
    text: str

    @property
    def type(self) -> str:
        """The type, as messages call it."""
        title = _TYPES[self.base][1]
        for mark in re.findall(r"\?|\[\d*\]", self.marks):
            title = f"Optional[{title}]" if mark == "?" else f"List[{title}]"
        return title

    @property
    def alias_info(self) -> AliasInfo | None:
        found = re.match(r"\w+\(([\w$]+)(!?)", self.text)
        if found is None:
            return None
        names = frozenset((found[1],))
        return AliasInfo(names, frozenset() if found[1].startswith("$") else names, found[2] == "!")

    @property
    def is_out(self) -> bool:
        return self.kwarg_only and self.is_write

    def has_default_value(self) -> bool:
        return self.has_default

    @property
    def default_value(self) -> Any:
        return self.default

    def fitted(self, value: Any, marks: str | None = None) -> Any:
        """The value as kernels get it; a `_Misfit` where it is none for this argument."""
        marks = self.marks if marks is None else marks
        if marks.endswith("?"):
            return None if value is None else self.fitted(value, marks[:-1])
        if marks.endswith("]"):
            inner, _, length = marks[:-1].rpartition("[")
            if length and isinstance(value, _TYPES[self.base][0]):
                return [self.fitted(value, inner)] * int(length)
            if not isinstance(value, list | tuple):
                raise _Misfit(value)
            return [self.fitted(item, inner) for item in value]
        classes = _TYPES[self.base][0]
        if not isinstance(value, classes) or (isinstance(value, str) and self.base not in ("str", "Device", "Any")):
            raise _Misfit(value)
        return float(value) if self.base == "float" else value  # type: ignore[arg-type]


class _Misfit(Exception):
    """A value that is not of the type wanted."""


class FunctionSchema:
    """An operator's name, arguments and results."""

    def __init__(self, name: str, overload_name: str, arguments: Sequence[Argument], returns: Sequence[Argument]):
        self.name, self.overload_name = name, overload_name
        self.arguments, self.returns = list(arguments), list(returns)

    @property
    def is_mutable(self) -> bool:
        return any(a.is_write for a in self.arguments)

    def __str__(self) -> str:
        parts = [a.text for a in self.arguments]
        starred = next((at for at, a in enumerate(self.arguments) if a.kwarg_only), None)
        if starred is not None:
            parts.insert(starred, "*")
        results = ", ".join(r.text for r in self.returns)
        if len(self.returns) != 1:
            results = f"({results})"
        return f"{self.name}{self.overload_name and '.' + self.overload_name}({', '.join(parts)}) -> {results}"

    __repr__ = __str__

    def fits(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        try:
            self.bind(args, kwargs)
        except RuntimeError:
            return False
        return True

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The values of a call, with defaults: those by position, and those by keyword alone."""
        arguments, most = self.arguments, len(self.arguments)
        positional = sum(not a.kwarg_only for a in arguments)
        given = len(args) + len(kwargs)
        if given > most:
            raise self.error(f"expected at most {most} argument(s) but received {given} argument(s).")
        if len(args) > positional:
            raise self.error(
                f"takes {positional} positional argument(s) but {len(args)} was/were given. ", after=" Declaration"
            )
        by_position: list[Any] = []
        by_keyword: dict[str, Any] = {}
        for at, a in enumerate(arguments):
            if at < len(args):
                value = self._fitted(at, args[at])
            elif a.name in kwargs:
                value = self._fitted(at, kwargs[a.name])
            elif a.has_default:
                value = a.default
            else:
                raise self.error(f"is missing value for argument '{a.name}'.")
            if a.kwarg_only:
                by_keyword[a.name] = value
            else:
                by_position.append(value)
        names = [a.name for a in arguments[len(args) :]]
        unknown = [name for name in kwargs if name not in names]
        if unknown:
            raise RuntimeError(f"Unknown keyword argument '{unknown[0]}' for operator '{self.name}'. Schema: {self}")
        return by_position, by_keyword

    def _fitted(self, at: int, value: Any) -> Any:
        a = self.arguments[at]
        try:
            return a.fitted(value)
        except _Misfit as misfit:
            (wrong,) = misfit.args
            details = (
                f"Unable to cast {value} to Tensor"
                if a.base == "Tensor" and "[" not in a.marks
                else f"Unable to cast Python instance of type {type(wrong)} to C++ type '?' (#define "
                "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
            )
            raise self.error(
                f"Expected a value of type '{a.type}' for argument '{a.name}' but instead found type "
                f"'{type(value).__name__}'.\nPosition: {at}\nValue: {value!r}",
                after="\nDeclaration",
                details=f"\nCast error details: {details}",
            ) from None

    def error(self, what: str, after: str = " Declaration", details: str = "") -> RuntimeError:
        return RuntimeError(f"{self.name}() {what}{after}: {self}{details}")


def parse_schema(text: str) -> FunctionSchema:
    """The schema that a text describes."""
    if not isinstance(text, str):
        raise TypeError(
            "parse_schema(): incompatible function arguments. The following argument types are supported:\n"
            f"    (schema: str)\ngot {type(text).__name__}"
        )
    if "(" not in text:
        raise RuntimeError("Tried to parse a function schema but only the operator name was given")
    title, _, rest = text.partition("(")
    name, _, overload = title.strip().partition(".")
    nameless = count()
    rest = _WRITTEN.sub(lambda found: f"{found[1]}(${next(nameless)}! -> )", rest)
    sides = re.match(r"(.*)\)\s*->(.*)", rest, re.DOTALL)
    if sides is None:
        raise RuntimeError(f"expected ) but found '{'arrow' if '->' in rest else 'eof'}' here:\n{text}\n")
    inside, results = sides.groups()
    arguments, keywords = [], False
    for part in _split(inside):
        if part == "*":
            keywords = True
        else:
            arguments.append(_argument(part, keywords, text))
    results = results.strip()
    if results.startswith("(") and results.endswith(")"):
        results = results[1:-1]
    return FunctionSchema(name, overload, arguments, [_argument(part, False, text) for part in _split(results)])


def _argument(part: str, keyword: bool, schema: str) -> Argument:
    found = _ARGUMENT.match(part)
    if found is None or found["base"] not in _TYPES:
        raise RuntimeError(
            "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for "
            "a full list, please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
            f":\n{schema}\n"
        )
    default = found["default"]
    value = None if default is None else _value(default, found["base"])
    return Argument(
        found["base"], found["marks"], found["name"] or "", value, default is not None, keyword, bool(found["write"]),
        part.replace("'", '"'),
    )  # fmt: skip


def _split(text: str) -> Iterator[str]:
    """The items between commas outside of brackets."""
    for part in re.findall(r"(?:[^,\[\(\"]|\[[^\]]*\]|\([^)]*\)|\"[^\"]*\")+", text):
        if part.strip():
            yield part.strip()


_WORDS: dict[str, Any] = {"true": True, "false": False, "inf": float("inf"), "-inf": -float("inf")}
_READERS: dict[str, Callable[[str], Any]] = {
    "ScalarType": lambda word: NAMES[word.rpartition(".")[2]],
    "Device": lambda word: device(word.strip("\"'")),
}


def _value(text: str, base: str) -> Any:
    if text == "None":
        return None
    if base in _READERS:
        return _READERS[base](text)
    try:
        return _WORDS[text] if text in _WORDS else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a word, as `mean` for a reduction
