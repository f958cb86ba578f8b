"""Giving functions and methods their public names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .op import Op, functions, overloaded
from .overrides import dispatch, needs_dispatch
from .schema import Signature
from .tensor import Tensor
from .write import into

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def function(name: str) -> Callable[[F], F]:
    """Publish a Python function as `torch.<name>`."""

    def publish_(f: F) -> F:
        functions[name] = f
        return f

    return publish_


def method(*names: str) -> Callable[[F], F]:
    """Publish a Python function as a method of Tensor."""

    def publish_(f: F) -> F:
        for name in names:
            setattr(Tensor, name, f)
        return f

    return publish_


def publish_python(schema: str, f: Callable[..., Any], forms: str = "function method") -> None:
    """Publish a function made of other ops, with its arguments bound as an op's are."""
    signature = Signature(schema)

    def bound(args: tuple[Any, ...], kwargs: dict[str, Any], call: Any, as_method: bool) -> Any:
        if needs_dispatch(args, kwargs):
            return dispatch(call, args, kwargs)
        out = kwargs.pop("out", None)
        values = signature.bind(args, kwargs, as_method)
        if out is None:
            return f(*values)
        return into(out, f, values, signature.name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return bound(args, kwargs, call, False)

    def call_method(*args: Any, **kwargs: Any) -> Any:
        return bound(args, kwargs, call_method, True)

    for made in (call, call_method):
        made.__name__ = made.__qualname__ = signature.name
        made.__doc__ = f.__doc__
    if "function" in forms:
        functions[signature.name] = call
    if "method" in forms:
        setattr(Tensor, signature.name, call_method)


def publish(*ops: Op, names: str | tuple[str, ...] = (), forms: str = "function method") -> Callable[..., Any]:
    """Give one op, or several overloads of one, its public forms; returns the function.

    `forms` are any of "function", "method", "inplace" (the method with a trailing underscore) and "operator:__x__".
    """
    given = (names,) if isinstance(names, str) else names
    names = given or (ops[0].signature.name,)
    if len(ops) == 1:
        call = ops[0].function()
        bound = ops[0].method() if ops[0].signature.variadic else call
    else:
        call, bound = overloaded(names[0], *ops)
    inplace = ops[0].inplace() if len(ops) == 1 and "inplace" in forms else None
    for form in forms.split():
        for name in names:
            if form == "function":
                functions[name] = call
            elif form == "method":
                setattr(Tensor, name, bound)
            elif form == "inplace":
                setattr(Tensor, name + "_", inplace)
                functions.setdefault(name + "_", inplace)
        if form.startswith("operator:"):
            setattr(Tensor, form.removeprefix("operator:"), bound)
    return call
