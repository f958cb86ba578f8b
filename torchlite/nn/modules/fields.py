"""`fields`: what a module is constructed from, declared once.

A class lists its arguments as a dataclass does, and how it is made, kept and shown follows:

    @fields(bare="num_groups num_channels")
    class GroupNorm(Module):
        num_groups: int
        num_channels: int
        eps: float = 1e-5
        affine: bool = True
        device: InitVar[Any] = None
        dtype: InitVar[dt.dtype | None] = None
        _: KW_ONLY
        bias: Wanted = wanted(default=True)

        def complete(self, device, dtype, bias): ...

`__init__` sets the attributes, then hands what is not kept (`InitVar`, `Wanted`) to `complete`. That is no method of
the class; those of its bases run first. Attributes that are made there are declared with `made()`. `__constants__`
names what is kept, and `extra_repr` shows it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar, dataclass_transform

from ..headers import binder
from .module import PLAIN, Module

C = TypeVar("C", bound=type[Module])

_REQUIRED = inspect.Parameter.empty
_MADE: Any = object()
_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)


def made(*, init: Literal[False] = False) -> Any:
    """Declares an attribute that is no argument."""
    return _MADE


class Wanted:
    """To type checkers, an attribute that is anything, of an argument that says whether it is wanted."""

    def __get__(self, module: object, owner: object = None) -> Any: ...

    def __set__(self, module: object, wanted: bool) -> None: ...


def wanted(*, default: bool) -> Any:
    """Declares whether something is `Wanted` by default."""
    return default


class Field(NamedTuple):
    """An argument, and whether it becomes an attribute."""

    name: str
    annotation: str
    default: Any
    keyword: bool
    kept: bool


@functools.lru_cache(maxsize=None, typed=True)  # many classes have the same
def _parameter(name: str, keyword: bool, default: Any, annotation: str) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if keyword else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


class Part(NamedTuple):
    """What one class of a line of descent has to do with the arguments."""

    kept: tuple[str, ...]
    handed: tuple[str, ...]
    complete: Callable[..., None] | None


class Declaration(NamedTuple):
    """The arguments of a class, those of its bases that have their defaults for good, and how it is made and shown."""

    fields: dict[str, Field]
    fixed: dict[str, Any]
    first: type  # whose bases are made first
    parts: tuple[Part, ...]
    shown: bool
    bare: frozenset[str]
    flags: frozenset[str]
    hidden: frozenset[str]


_declared: dict[type, Declaration] = {}
_NOTHING = Declaration({}, {}, Module, (), True, frozenset(), frozenset(), frozenset())


@dataclass_transform(field_specifiers=(made, wanted))
def fields(
    cls: Any = None, *, header: str | None = None, constants: str | None = None, repr: bool | None = None,
    bare: str = "", flags: str = "", hidden: str = "",
) -> Any:  # fmt: skip
    """Give a class its `__init__`, `__constants__` and `extra_repr`, where it has none of its own.

    `header` is the order of the arguments, if it is not that of the declarations, with those of the bases first; what
    of those it does not name is no argument. `constants` are the `__constants__`, if these are not all that is kept; an
    empty string leaves those of the base. Without `repr`, nothing is shown, as is what is `hidden`; what is `bare` is
    shown without its name, and `flags` only where they are set. A bias that is not kept is shown as whether there is
    one.
    """
    if cls is None:
        return functools.partial(
            fields, header=header, constants=constants, repr=repr, bare=bare, flags=flags, hidden=hidden
        )
    base = next((_declared[b] for b in cls.__mro__ if b in _declared), _NOTHING)
    own = {field.name: field for field in _own_fields(cls)}
    known = {**base.fields, **own}
    ordered = known if header is None else _ordered(known, header)
    new = [f for f in own.values() if f.name not in base.fields]
    complete = cls.__dict__.get("complete")
    if complete is not None:
        del cls.complete
    part = Part(tuple([f.name for f in new if f.kept]), tuple([f.name for f in new if not f.kept]), complete)
    declaration = _declared[cls] = Declaration(
        ordered,
        {**base.fixed, **{f.name: f.default for f in known.values() if f.name not in ordered}},
        cls if base is _NOTHING else base.first,
        (*base.parts, part),
        "extra_repr" not in cls.__dict__ and (base.shown if repr is None else repr),
        base.bare.union(bare.split()),
        base.flags.union(flags.split()),
        base.hidden.union(hidden.split()),
    )
    if "__init__" not in cls.__dict__:
        cls.__init__ = _initializer(cls, declaration)
    if constants is None:
        cls.__constants__ = [f.name for f in ordered.values() if f.kept]
    elif constants:
        cls.__constants__ = constants.split()
    if "extra_repr" not in cls.__dict__ and (declaration.shown or (base.shown and base is not _NOTHING)):
        cls.extra_repr = _shower(cls, declaration)
    return cls


def _own_fields(cls: type) -> Iterator[Field]:
    """The arguments that a class declares. They leave no defaults behind, and only what is kept is annotated."""
    keyword = False
    for name, annotation in inspect.get_annotations(cls).items():
        default = cls.__dict__.get(name, _REQUIRED)
        if annotation == "KW_ONLY":
            keyword = True
        if annotation.startswith("ClassVar"):
            continue
        if default is not _REQUIRED:
            delattr(cls, name)
        kept = annotation != "Wanted" and not annotation.startswith("InitVar[")
        if not kept or annotation == "KW_ONLY":
            del cls.__annotations__[name]
        if annotation != "KW_ONLY" and default is not _MADE:
            told = annotation if kept else "bool" if annotation == "Wanted" else annotation[8:-1]
            yield Field(name, told, default, keyword, kept)


def _ordered(known: dict[str, Field], header: str) -> dict[str, Field]:
    names = header.split()
    keyword = names.index("*") if "*" in names else len(names)
    return {n: known[n]._replace(keyword=at > keyword) for at, n in enumerate(names) if n != "*"}


def _initializer(cls: type, declaration: Declaration) -> Callable[..., None]:
    first: Any
    parts: Any
    arguments, fixed, first, parts = declaration[:4]
    positional = tuple([name for name, f in arguments.items() if not f.keyword])
    usual = {name: f.default for name, f in arguments.items()}
    required = tuple([name for name, f in arguments.items() if f.default is _REQUIRED])
    parameters = [_parameter(f.name, f.keyword, f.default, f.annotation) for f in arguments.values()]
    header = inspect.Signature([_SELF, *parameters], return_annotation="None", __validate_parameters__=False)
    most, count = len(positional), len(arguments)
    # Nothing global, since it will have the class's module for that.
    refuse, missing, base, plain = functools.partial(_refuse, cls, header), _REQUIRED, Module, PLAIN

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        values = usual
        if args or kwargs or required:
            values = {**usual, **kwargs}
            fit = len(values) == count and len(args) <= most
            if args:
                fit = fit and (not kwargs or kwargs.keys().isdisjoint(positional[: len(args)]))
                values.update(zip(positional, args))
            for name in required:
                fit = fit and values[name] is not missing
            if not fit:
                refuse(self, args, kwargs)
        if fixed:
            values = {**values, **fixed}
        super(first, self).__init__()
        # What is no part of a module is set as `Module.__setattr__` would in the end.
        as_ever = type(self).__setattr__ is base.__setattr__
        store = super(base, self).__setattr__
        for kept, handed, complete in parts:
            for name in kept:
                value = values[name]
                if as_ever and value.__class__ in plain:
                    store(name, value)
                else:
                    setattr(self, name, value)
            if handed:
                complete(self, *map(values.__getitem__, handed))
            elif complete is not None:
                complete(self)

    # As if it stood in the class.
    room = vars(sys.modules[cls.__module__])
    made: Any = FunctionType(__init__.__code__, room, "__init__", None, __init__.__closure__)
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {**{name: f.annotation for name, f in arguments.items()}, "return": "None"}
    made.__signature__ = header
    return made


def _refuse(cls: type, header: inspect.Signature, self: Any, args: tuple[Any, ...], kwargs: Any) -> NoReturn:
    """Raise what Python does for arguments that do not fit."""
    binder(f"{cls.__qualname__}.__init__", header.parameters.values())(self, *args, **kwargs)
    raise AssertionError("arguments that do fit")


def _shower(cls: type, declaration: Declaration) -> Callable[[Any], str]:
    _, _, _, _, shown, bare, flags, hidden = declaration
    names = [n for n, f in declaration.fields.items() if shown and n not in hidden and (f.kept or n == "bias")]
    presence = "bias" in names and not declaration.fields["bias"].kept

    def extra_repr(self) -> str:
        parts = []
        for name in names:
            value = getattr(self, name)
            if name in flags:
                parts += [f"{name}=True"] if value else []
            elif name in bare:
                parts.append(f"{value}")
            else:
                parts.append(f"{name}={value is not None if presence and name == 'bias' else value}")
        return ", ".join(parts)

    extra_repr.__qualname__ = f"{cls.__qualname__}.extra_repr"
    extra_repr.__module__ = cls.__module__
    return extra_repr
