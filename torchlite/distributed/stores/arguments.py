"""What the methods of stores are called with: PyTorch's are C++, know arguments by their places, and refuse others."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])
_TEXT = "str"
_NUMBER = "typing.SupportsInt | typing.SupportsIndex"
_TEXTS = "collections.abc.Sequence[str]"
_SPAN = "datetime.timedelta"


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, bytes, bytearray))


def _is_number(value: Any) -> bool:
    return not isinstance(value, float) and (hasattr(value, "__index__") or hasattr(value, "__int__"))


_FITS: dict[str, Callable[[Any], bool]] = {
    _TEXT: _is_text, _NUMBER: _is_number, _SPAN: lambda value: isinstance(value, timedelta),
    _TEXTS: lambda value: isinstance(value, (Sequence, set)) and not _is_text(value) and all(map(_is_text, value)),
    f"{_SPAN} | None": lambda value: value is None or isinstance(value, timedelta),
    "bool": lambda value: isinstance(value, bool),
}  # fmt: skip
_KINDS = {
    "str": _TEXT, "str | bytes": _TEXT, "int": _NUMBER, "bool": "bool", "Sequence[str]": _TEXTS, "timedelta": _SPAN,
    "timedelta | None": f"{_SPAN} | None",
}  # fmt: skip


def checked(method: _Method) -> _Method:
    """A method that refuses what its annotations do not speak of, in PyTorch's words.

    Parameters that have no names there are positional-only here; one of these with a default makes two forms of it.
    """
    signature = inspect.signature(method)
    _, *parameters = signature.parameters.values()
    kinds = {each.name: _kind(each) for each in parameters}

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:
            fits = False
        else:
            _, *given = bound.arguments
            fits = all(_FITS[kinds[name]](bound.arguments[name]) for name in given)
        if not fits:
            raise TypeError(_refusal(signature, kinds, method.__name__, self, args, kwargs))
        return method(*bound.args)

    return call  # type: ignore[return-value]


def _kind(parameter: inspect.Parameter) -> str:
    """What PyTorch calls the type of a parameter."""
    said = parameter.annotation
    return _KINDS[said.removesuffix(" | None") if parameter.kind is parameter.POSITIONAL_ONLY else said]


def _refusal(
    signature: inspect.Signature, kinds: dict[str, str], name: str, self: Any, args: Sequence[Any],
    kwargs: dict[str, Any],
) -> str:  # fmt: skip
    _, *parameters = signature.parameters.values()
    shown = [
        f"arg{place}: {kinds[each.name]}" if each.kind is each.POSITIONAL_ONLY else
        f"{each.name}: {kinds[each.name]}" + ("" if each.default is each.empty else f" = {each.default!r}")
        for place, each in enumerate(parameters)
    ]  # fmt: skip
    splits = bool(parameters) and parameters[-1].kind is inspect.Parameter.POSITIONAL_ONLY
    forms = [shown[:-1], shown] if splits and parameters[-1].default is not inspect.Parameter.empty else [shown]
    lines = [
        f"    {number}. ({', '.join(('self: torch._C._distributed_c10d.Store', *form))}) -> "
        f"{_RETURNS.get(signature.return_annotation, signature.return_annotation)}\n"
        for number, form in enumerate(forms, 1)
    ]
    invoked = ", ".join(map(repr, (self, *args)))
    named = f"; kwargs: {', '.join(f'{key}={value!r}' for key, value in kwargs.items())}" if kwargs else ""
    return (
        f"{name}(): incompatible function arguments. The following argument types are supported:\n{''.join(lines)}"
        f"\nInvoked with: {invoked}{named}"
    )


_RETURNS = dict.fromkeys(("Store", "PrefixStore", "TCPStore"), "torch._C._distributed_c10d.Store")
