"""Headers of functions: names and documents for those that are made, and arguments bound as Python does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..core.machine import overridable, planned, public
from ..core.native import named as named_after


def named(name: str, doc: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """A function under its public name."""
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return overridable(f)


def known_by_form(comes_to: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An `overridable` function that has plans.

    Of its arguments, `comes_to` gives the op that calls of their form come to and what that is given, and the number of
    the result, where it is one of several; or None.
    """

    def find(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = comes_to(*args, **kwargs)
        if found is None:
            return None
        op, given, *which = found
        values = op.signature.bind(given, {})
        return (op, values, *which) if which else op.comes_to(*values)

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        call = overridable(f)
        made = public[call] = named_after(planned(find, call), call)
        made.__signature__, made.__annotations__ = inspect.signature(f), f.__annotations__
        getattr(made, "general", made).__wrapped__ = f  # in whose words it is annotated
        return made

    return declare


def binder(qualname: str, parameters: Iterable[inspect.Parameter]) -> Callable[..., dict[str, Any]]:
    """A function with these parameters; the defaults of those that have one are in what it gives back."""
    names: list[str] = []
    defaults = {}
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        names.append(p.name if p.default is p.empty else f"{p.name}=_defaults[{p.name!r}]")
        defaults[p.name] = p.default
    place: dict[str, Any] = {"_defaults": defaults}
    exec(f"def bind({', '.join(names)}): return locals()", place)
    bind = place["bind"]
    bind.__name__, bind.__qualname__ = qualname.rpartition(".")[2], qualname
    return bind
