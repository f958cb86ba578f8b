"""The stubs that are written, page by page."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
from collections.abc import Iterable
from importlib.util import resolve_name
from types import ModuleType
from typing import Any

from ..core.machine import functions
from ..core.machine import tensor as tensor_module
from ..core.values import made
from ..faces.table import FACES
from .functions import lines
from .origins import Definition, Home, children, defined, home, imports
from .words import Words

_HEAD = (
    "# Written by `python -m torchlite.stubs`.\n"
    '# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"\n'
)


def _page(words: Words, body: Iterable[str]) -> str:
    body = list(body)
    return _HEAD + "\n".join([*words.imports(), "", *body, ""])


def namespace(module: str) -> str:
    """A module of functions, with what it hands on from elsewhere."""
    words, space = Words(module), importlib.import_module(module)
    handed_on, made_here = [], []
    inside = {name for name in children(module) if isinstance(vars(space).get(name, space), ModuleType)}
    for name in sorted({*dir(space), *getattr(space, "__all__", ()), *inside, *_faces(module), *_shared(module)}):
        if name.startswith("_") and name != "__version__" and name not in _shared(module):
            continue
        if name in inside:
            handed_on.append(f"from {module} import {name} as {name}")
            continue
        where = _later(module, name) or home(module, name)
        value = getattr(space, name)
        is_known = where.module.startswith("torchlite") or isinstance(value, float)
        if not is_known or where.module == "torchlite.absent":
            continue
        definition = defined(where.module).get(where.name)
        if where == (module, name) and isinstance(value, type) and definition:
            made_here += _class(words, value, definition)
        elif where.module != module and _is_plain(definition) and functions.get(name) is not value:
            handed_on.append(f"from {where.module} import {where.name} as {name}")
        elif inspect.isroutine(value):
            made_here += lines(words, name, value)
        else:
            made_here.append(f"{name}: {words.value(value)}")
    return _page(words, [*handed_on, "", *made_here])


_CONTEXTS = ("contextmanager", "contextlib.contextmanager")  # decorators that checkers know


def _is_plain(definition: Definition | None) -> bool:
    """Whether a checker reads off a definition what there is."""
    if definition is None or isinstance(definition, ast.ClassDef):
        return definition is not None
    return all(ast.unparse(each) in _CONTEXTS for each in definition.decorator_list)


def _later(module: str, name: str) -> Home | None:
    """Where torch finds what is loaded when it is first used."""
    there = getattr(importlib.import_module(module), "_HOME", {}).get(name)
    return there and home(resolve_name(there if there.startswith(".") else f".{there}", module), name)


def _shared(package: str) -> set[str]:
    """What the modules of a package import from it that is not for others."""
    named = [imports(f"{package}.{child}")[0].values() for child in children(package)]
    taken = {where.name for homes in named for where in homes if where.module == package}
    return {name for name in taken if name in defined(package)}


def _faces(package: str) -> set[str]:
    """The modules of a package that have no file."""
    space = importlib.import_module(package)
    faces = [f"torchlite.{face}".removeprefix(f"{package}.") for face in FACES]
    return {face for face in faces if hasattr(space, face)}


def tensor() -> str:
    """The class of tensors, with what was attached to it, and the functions beside it."""
    module = tensor_module.__name__
    words = Words(module)
    beside = []
    for name, definition in defined(module).items():
        value = vars(tensor_module).get(name)
        if isinstance(value, type):
            beside += _class(words, value, definition)
        elif value is not None:
            beside += lines(words, name, value)
    return _page(words, beside)


def _class(words: Words, cls: type, definition: Definition) -> list[str]:
    """A class with all its members, those included that it was given later."""
    assert isinstance(definition, ast.ClassDef)
    bases = ", ".join([words.annotation(ast.unparse(base), words.own) for base in definition.bases])
    if issubclass(cls, enum.Enum):  # the rest of its attributes is enum's own
        body = [f"{name} = {member.value!r}" for name, member in cls.__members__.items()]
    else:
        body = [line for name, value in sorted(vars(cls).items()) for line in _member(words, name, value)]
    return [f"class {cls.__name__}({bases}):", *["    " + line for line in body or ["..."]]]


def _is_for_use(f: Any) -> bool:
    """Whether a property's function is there, and not to refuse."""
    if f is None:
        return False
    called = f if inspect.isfunction(f) else type(f).__call__
    return getattr(called, "__annotations__", {}).get("return") != "NoReturn"


_NOT_SHOWN = frozenset((
    "__annotations__", "__dict__", "__doc__", "__firstlineno__", "__hash__", "__module__", "__slotnames__", "__slots__",
    "__static_attributes__", "__weakref__",
))  # fmt: skip


def _member(words: Words, name: str, value: Any) -> list[str]:
    if name in _NOT_SHOWN:
        return []
    if isinstance(value, (classmethod, staticmethod)):
        return [f"@{type(value).__name__}", *lines(words, name, value.__func__)]
    if hasattr(value, "fget"):
        kind = words.result_of(value.fget)
        setter = [f"@{name}.setter", f"def {name}(self, value: {kind}) -> None: ..."] if _is_for_use(value.fset) else []
        deleter = [f"@{name}.deleter", f"def {name}(self) -> None: ..."] if _is_for_use(value.fdel) else []
        return ["@" + words.known("_property"), f"def {name}(self) -> {kind}: ...", *setter, *deleter]
    if callable(value) and not isinstance(value, type):
        return lines(words, name, value, method=True)
    return [f"{name}: {words.value(value)}"]


def return_types() -> str:
    """The named tuples that ops with several results give."""
    words = Words("torchlite.return_types")
    body = []
    for name, cls in sorted(made.items()):
        fields = [f"    {field}: {words.known('_Tensor')}" for field in cls._fields]
        body += [f"class {name}({words.known('_NamedTuple')}):", *fields]
    return _page(words, [*body, "all_return_types: list[type[object]]"])
