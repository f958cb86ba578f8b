"""The schema that a function's annotations tell."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from ..core.machine import Tensor
from ..core.values.device import device
from ..core.values.dtype import dtype

__all__ = ["infer_schema", "tuple_to_list"]

_WORDS: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device",
}  # fmt: skip
_NUMBERS = {int, float, bool}
_LISTS = (list, collections.abc.Sequence)
_GIVEN = {"Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"}  # what an operator may return
_NO_LISTS = {"ScalarType", "Device", "str"}


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """The schema of a function: its parameters by their annotations, those that it writes into marked."""
    signature = inspect.signature(prototype_function)

    def error(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
            "'unknown'. "
        )
    written = mutates_args if isinstance(mutates_args, str) else set(mutates_args)
    parts: list[str] = []
    for at, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise error("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        if parameter.annotation is parameter.empty:
            raise error(f"Parameter {name} must have a type annotation.")
        hint = _evaluated(parameter.annotation, prototype_function, error)
        word = _word(hint)
        if word is None:
            if typing.get_origin(hint) is tuple:
                as_list = tuple_to_list(hint)
                raise error(
                    f"Parameter {name} has unsupported type {parameter.annotation}. We do not support Tuple inputs in "
                    f"schema. As a workaround, please try to use List instead. For example, {as_list}.\n\nThe valid "
                    f"types are: {_valid()}."
                )
            unsupported = f"Parameter {name} has unsupported type {parameter.annotation}."
            raise error(f"{unsupported} The valid types are: {_valid()}.")
        if written == "unknown" or name in written:
            if word.startswith("Tensor"):
                word = f"Tensor(a{at}!){word.removeprefix('Tensor')}"
            elif written != "unknown":
                raise error(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
                )
        parts.append(f"{word} {name}{_default(name, parameter, error)}")
    unknown = set() if isinstance(written, str) else written - set(signature.parameters)
    if unknown:
        raise error(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
            "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    if signature.return_annotation is signature.empty:
        raise error("No return type annotation was provided. Please add one.")
    returned = _evaluated(signature.return_annotation, prototype_function, error)
    return f"{op_name or ''}({', '.join(parts)}) -> {_results(returned, error)}"


def _evaluated(hint: Any, function: Callable[..., Any], error: Callable[[str], ValueError]) -> Any:
    if not isinstance(hint, str):
        return hint
    known = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return eval(hint, {"Tensor": Tensor, **vars(typing), **known})
    except Exception as reason:
        raise error(
            f"Unsupported type annotation {hint}. It is not a type. ({reason}). If you are using 'from __future__ "
            "import annotations', note that annotations are evaluated lazily as strings; make sure all types "
            "referenced in annotations are importable at module scope, not only inside a local function."
        ) from None


def _word(hint: Any) -> str | None:
    """A type in the words of schemas; None where they have none for it."""
    if hint in _WORDS:
        return _WORDS[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if set(arguments) == _NUMBERS:
            return "Scalar"
        inner = [a for a in arguments if a is not type(None)]
        if len(inner) == len(arguments):
            return None
        word = _word(inner[0] if len(inner) == 1 else typing.Union[tuple(inner)])  # noqa: UP007
        return word and word + "?"
    if origin in _LISTS and len(arguments) == 1:
        word = _word(arguments[0])
        return None if word is None or "[" in word or word in _NO_LISTS else word + "[]"
    return None


def _valid() -> str:
    words = [*_WORDS.values(), "Scalar"]
    return ", ".join([*words, *[f"{w}[]" for w in words if w not in _NO_LISTS]]) + ", and with None"


def _default(name: str, parameter: inspect.Parameter, error: Callable[[str], ValueError]) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    if value is None or isinstance(value, int | float | bool):
        return f"={value}"
    if isinstance(value, str | device):
        return f'="{value}"'
    if isinstance(value, dtype):
        return f"={str(value).removeprefix('torch.')}"
    raise error(
        f"Parameter {name} has an unsupported default value type {type(value)}. Please file an issue on GitHub so we "
        "can prioritize this."
    )


def _results(hint: Any, error: Callable[[str], ValueError]) -> str:
    if hint is None or hint is type(None):
        return "()"
    several = typing.get_origin(hint) is tuple
    words = [_word(h) for h in (typing.get_args(hint) if several else (hint,))]
    if any(word not in _GIVEN for word in words):
        raise error(f"Return has unsupported type {hint}. The valid types are: {', '.join(sorted(_GIVEN))}.")
    listed = ", ".join(str(word) for word in words)
    return f"({listed})" if len(words) != 1 else listed


def tuple_to_list(tuple_type: Any) -> Any:
    """The list type that may stand for a type of tuples."""
    inside = {a for a in typing.get_args(tuple_type) if a is not Ellipsis}
    if not inside:
        return list
    return list[inside.pop()] if len(inside) == 1 else list[typing.Union[tuple(typing.get_args(tuple_type))]]  # type: ignore[misc]  # noqa: UP007
