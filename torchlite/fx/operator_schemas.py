"""Arguments of calls by the names that functions and modules have for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .._ops import OpOverload
from ..nn.modules.module import Module

__all__ = ["ArgsKwargsPair", "get_signature_for_torch_op", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments by place, and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


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
