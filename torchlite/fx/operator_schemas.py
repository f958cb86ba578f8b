"""Arguments of calls by the names that functions and modules have for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import GenericAlias
from typing import Any, NamedTuple, Union, get_args, get_origin

from .._ops import OpOverload
from ..core.values import warn
from ..core.values.dtype import dtype
from ..nn.modules.module import Module

__all__ = [
    "ArgsKwargsPair", "create_type_hint", "get_signature_for_torch_op", "normalize_function", "normalize_module",
    "type_matches",
]  # fmt: skip


class ArgsKwargsPair(NamedTuple):
    """Arguments by place, and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def create_type_hint(x: object) -> object:
    """The type of a list, or tuple, of types, as one of a type that all of them are; anything else as it is."""
    if not isinstance(x, (list, tuple)):
        return x
    if not all([isinstance(part, type) and not isinstance(part, GenericAlias) for part in x]):
        warn(f"We were not able to successfully create type hint from the type {x}")
        return x
    common = [kind for kind in x if all([issubclass(other, kind) for other in x])]
    element: Any = common[0] if common else Any
    return list[element] if isinstance(x, list) else tuple[element, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether a parameter of a type takes arguments of another."""
    if signature_type == argument_type:
        return True
    origin, inside = get_origin(signature_type), get_args(signature_type)
    if origin is Union:
        return any([type_matches(kind, argument_type) for kind in inside])
    if origin is list:
        if inside == (int,) and argument_type is int:
            return True
        parts = [part for part in get_args(argument_type) if part is not ...]
        listed = get_origin(argument_type) in (list, tuple) and bool(parts)
        return listed and all([_is_class_of(part, inside[0]) for part in parts])
    return (signature_type is int and argument_type is dtype) or _is_class_of(argument_type, signature_type)


def _is_class_of(kind: Any, base: Any) -> bool:
    return inspect.isclass(kind) and inspect.isclass(base) and issubclass(kind, base)


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of a function."""
    if isinstance(op, OpOverload):
        kinds = inspect.Parameter
        found = [
            inspect.Parameter(
                "from_" if a.name == "from" else a.name,
                kinds.KEYWORD_ONLY if a.kwarg_only else kinds.POSITIONAL_OR_KEYWORD,
                default=a.default_value if a.has_default_value() else kinds.empty,
            )
            for a in op._schema.arguments
        ]
        signatures: list[inspect.Signature] = [inspect.Signature(found)]
    else:
        try:
            parameters = inspect.signature(op).parameters.values()
            signatures = [inspect.Signature([p for p in parameters if p.name != "out"])]
        except (TypeError, ValueError):
            signatures = []
    return (signatures, []) if return_schemas else signatures


def normalize_function(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call with all that have defaults; None where the function's parameters are not known."""
    for signature in get_signature_for_torch_op(target):
        found = _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
        if found is not None:
            return found
    return None


def normalize_module(
    root: Module, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call of a submodule."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize arguments for module {target} but root has no module with that target!"
        ) from error
    return _normalized(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], by_name: bool
) -> ArgsKwargsPair | None:
    kinds = {p.kind for p in signature.parameters.values()}
    if kinds - {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}:
        return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    placed = () if by_name else tuple(list(bound.arguments.values())[: len(args)])
    return ArgsKwargsPair(placed, dict(list(bound.arguments.items())[len(placed) :]))
