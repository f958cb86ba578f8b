"""Error texts for calls that fit no signature, in PyTorch's words, by the check that it makes first."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..values import type_name

if TYPE_CHECKING:
    from .schema import Param, Signature


class Mismatch(TypeError):
    """The arguments do not fit this signature."""


class TooLong(Mismatch):
    """An int that 64 bits do not hold."""


def misfit(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool) -> str:
    """The error text for a call: too many arguments, else the first parameter that misses one or has a wrong one."""
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
            param(_first(param, args[at] if at < len(args) else named[at]))
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


def half_fit(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool) -> str | None:
    """The error text for a call that fits by the first int of each list, which is all that PyTorch looks at before it
    unpacks them."""
    if method and signature.variadic and len(args) > 2:
        args = (args[0], args[1:])
    if not signature.fits(args, kwargs, method):
        return None
    params = [*signature.params[: len(args)], *[signature.params[signature.index(name) or 0] for name in kwargs]]
    given = [*args, *kwargs.values()]
    try:
        for param, value in zip(params, given):
            param(_first(param, value))
    except Mismatch:
        return None
    return next(filter(None, map(partial(_not_unpacked, signature.name), params, given)), None)


def _not_unpacked(name: str, param: Param, value: Any) -> str | None:
    if _first(param, value) is not value:
        for at, item in enumerate(param.asked(value), 1):
            try:
                param.convert(item)
            except TooLong:
                continue
            except Mismatch:
                return (
                    f"{name}(): argument '{param.called}' failed to unpack the object at pos {at} with error "
                    f'"type must be {param.said()},but got {type_name(item)}"'
                )
    return None


def takes_item(param: Param, value: Any) -> bool:
    """Whether `value` may stand in a list that a parameter takes."""
    try:
        param.convert(value)
    except Mismatch as misfit:
        return isinstance(misfit, TooLong)
    return True


def _first(param: Param, value: Any) -> Any:
    longer = param.type == "int" and param.sequence and isinstance(value, (list, tuple)) and len(value) > 1
    return value[:1] if longer else value


def _missing(signature: Signature, start: int) -> str:
    names = [p.called for p in signature.params[start:] if p.required]
    plural = "s" if len(names) == 1 else ""  # the other way round, as in PyTorch
    listed = ", ".join([f'"{name}"' for name in names])
    return f"{signature.name}() missing {len(names)} required positional argument{plural}: {listed}"


def _wrong(signature: Signature, param: Param, value: Any, position: int) -> str:
    name = param.called
    where = f" (position {position})" if position else ""
    if param.sequence and isinstance(value, (list, tuple)):
        for at, item in enumerate(param.asked(value)):
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
    name: str, args: Sequence[Any], kwargs: Mapping[str, Any], overloads: Sequence[Signature], method: bool = False
) -> TypeError:
    """The error for a call that fits none of an op's overloads; a list of tensors and others is one as such."""
    mixed = next(filter(None, [_mixed(form, args) for form in overloads]), None)
    if mixed is not None:
        return TypeError(mixed)
    given = [type_name(a) for a in args[method:]] + [f"{k}={type_name(v)}" for k, v in sorted(kwargs.items())]
    expected = overloads[0].shown(method)
    if len(overloads) > 1:
        lines = [f" * {form.shown(method)}\n{_why(form, args, kwargs, method)}" for form in overloads]
        expected = f"one of:\n{''.join(lines)}"
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(given)}"
        f"{', ' if kwargs and not args[method:] else ''}), but expected {expected}"
    )


def _mixed(form: Signature, args: Sequence[Any]) -> str | None:
    """What is said where the first argument that does not fit is a list in which not all are tensors."""
    for at, (param, value) in enumerate(zip(form.params, args)):
        try:
            param(value)
        except TypeError:
            listed = param.is_tensor and param.sequence and isinstance(value, (list, tuple))
            return _wrong(form, param, value, at + 1) if listed else None
    return None


def _why(form: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool) -> str:
    """Why an overload with as many parameters as there are arguments does not fit; PyTorch counts `*` as one."""
    places = [p for p in form.params if not p.kwonly]
    named = [p for p in form.params if p.kwonly]
    count = len(places) + len(named) + bool(named) - method
    if len(args) + len(kwargs) - method != max(count, 1):
        return ""
    by_name = {p.name: p for p in [*places[len(args) :], *named] if p.required}  # one with a default has no name
    unknown = [name for name in kwargs if name not in by_name]
    if unknown:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    types = [_marked(p, value) for p, value in itertools.zip_longest(places, args)][method : len(args)]
    types += [f"{name}={_marked(by_name[name], value)}" for name, value in kwargs.items()]
    return f"      didn't match because some of the arguments have invalid types: ({', '.join(types)})\n"


def _marked(param: Param | None, value: Any) -> str:
    """The type of an argument, between `!` where it does not fit; PyTorch says so of every number and sequence."""
    if isinstance(value, (tuple, list)):
        kinds = ", ".join(map(type_name, value))
        return f"!list of [{kinds}]!" if isinstance(value, list) else f"!tuple of ({kinds}{',' * (len(value) == 1)})!"
    try:
        if param is None or param.type == "Scalar":
            raise Mismatch
        param(value)
    except TypeError:
        return f"!{type_name(value)}!"
    return type_name(value)
