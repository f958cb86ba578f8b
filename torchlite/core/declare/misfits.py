"""What is wrong with calls that do not fit a signature, in PyTorch's words and in the order in which it looks."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..values import type_name

if TYPE_CHECKING:
    from .schema import Param, Signature


class Mismatch(TypeError):
    """The arguments do not fit this signature."""


class TooLong(Mismatch):
    """An int that 64 bits do not hold."""


def misfit(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool) -> str:
    """What is wrong with a call: how many arguments, else the first parameter that has none or a wrong one."""
    if method and args and len(signature.params) == 1:
        given = f"arguments ({len(args) - 1} given)" if not kwargs else "keyword arguments"
        return f"TensorBase.{signature.name}() takes no {given}"
    if len(args) > signature.positional:
        return _too_many(signature, len(args), method)
    named = {signature.index(name): value for name, value in kwargs.items()}
    for at, param in enumerate(signature.params):
        if at >= len(args) and at not in named:
            if param.required:
                return _missing(signature, max(at, len(args)))
            continue
        try:
            param(args[at] if at < len(args) else named[at])
        except TooLong:
            continue
        except Mismatch:
            return _wrong(signature, param, *((args[at], at + 1 - method) if at < len(args) else (named[at], 0)))
    known = {*range(len(args))}
    for name in kwargs:
        place = signature.index(name)
        if place is None:
            return f"{signature.name}() got an unexpected keyword argument '{name}'"
        if place in known:
            return f"{signature.name}() got multiple values for argument '{name}'"
        known.add(place)
    return f"{signature.name}(): expected a tensor among the arguments"


def refusal(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool) -> TypeError:
    """The error for a call that does not fit a signature, or none of the overloads that it stands for."""
    forms = _overloads(signature)
    if not forms:
        return TypeError(misfit(signature, args, kwargs, method))
    return invalid_combination(signature.name, args, kwargs, forms, method, not method)


_OF_ONE_FORM = frozenset(("add", "sub", "mul", "div", "copy"))  # which take numbers for tensors


def _overloads(signature: Signature) -> list[Signature]:
    """One with a tensor, one with a number for each operand; but one of tensors there is in each."""
    before, *after = signature.text.split("Operand")
    if not after or signature.name.rstrip("_") in _OF_ONE_FORM:
        return []
    both = ("Tensor", "Scalar")
    optional = after[0].startswith("?")  # then all are alike
    kinds = zip(*[both] * len(after), strict=True) if optional else itertools.product(both, repeat=len(after))
    texts = [before + "".join(map(operator.add, kind, after)) for kind in kinds]
    return [type(signature)(text) for text in texts if "Tensor " in text]


def _missing(signature: Signature, start: int) -> str:
    names = ["input" if p.name == "self" else p.name for p in signature.params[start:] if p.required]
    plural = "s" if len(names) == 1 else ""  # the other way round, as in PyTorch
    listed = ", ".join([f'"{name}"' for name in names])
    return f"{signature.name}() missing {len(names)} required positional argument{plural}: {listed}"


def _wrong(signature: Signature, param: Param, value: Any, position: int) -> str:
    name = "input" if param.name == "self" else param.name
    where = f" (position {position})" if position else ""
    if param.sequence and isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            try:
                param.convert(item)
            except Mismatch:
                got = type_name(item)
                if param.is_tensor:
                    return f"expected Tensor as element {at} in argument {position - 1}, but got {got}"
                return (
                    f"{signature.name}(): argument '{name}'{where} must be {param.said()}, "
                    f"but found element of type {got} at pos {at}"
                )
    return f"{signature.name}(): argument '{name}'{where} must be {param.said()}, not {type_name(value)}"


def _too_many(signature: Signature, got: int, method: bool) -> str:
    most = signature.positional - method
    least = sum(p.required for p in signature.params if not p.kwonly) - method
    takes = f"from {least} to {most}" if least < most else f"{most}"
    plural = "" if takes == "1" else "s"
    return f"{signature.name}() takes {takes} positional argument{plural} but {got - method} were given"


def invalid_combination(
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    candidates: list[Signature],
    method: bool = False,
    out: bool = False,
) -> TypeError:
    """The error for a call that fits none of an op's overloads."""
    args = args[method:]
    got = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in sorted(kwargs.items())])
    lines = "".join(f" * {s.shown(method, out)}\n" for s in candidates)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}{', ' if kwargs and not args else ''}), "
        f"but expected one of:\n{lines}"
    )
