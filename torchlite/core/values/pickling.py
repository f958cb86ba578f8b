"""Pickling what bears PyTorch's names.

Classes are shown as `torch.nn.modules.linear.Linear`. A pickle that names them so is found again where `torch` means
torchlite; elsewhere that name would lead to PyTorch, or nowhere, and torchlite's own is written instead.
"""

from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, TypeVar

Named = TypeVar("Named")


def bear_name(named: Any, module: str) -> None:
    """Let a class, or a function, be shown as one of PyTorch's module. Python 3.13 forgets where it begins then."""
    line = getattr(named, "__dict__", {}).get("__firstlineno__")
    named.__module__ = module
    if line is not None:
        named.__firstlineno__ = line


def shown_in(module: str) -> Callable[[Named], Named]:
    """Let the class, or the function, below bear the name of one of PyTorch's module."""

    def decorate(named: Named) -> Named:
        bear_name(named, module)
        return named

    return decorate


def live_here(room: dict[str, Any], *names: str) -> None:
    """Let functions that a module hands on from files in it be shown, and pickled, as its own; all, or those named."""
    home = room["__name__"]
    _, dot, path = home.partition(".")  # of torchlite, or of torch, as names are while the alias is on
    for name in names or room:
        f = room[name]
        if isinstance(f, FunctionType) or hasattr(f, "general"):
            root, _, rest = f.__module__.partition(".")
            if root in ("torchlite", "torch") and rest.startswith(path + dot):
                f.__module__ = home


def reduce_ex(self: Any, protocol: Any) -> Any:
    """The `__reduce_ex__` of classes that bear PyTorch's names, and have no other."""
    reduced = object.__reduce_ex__(self, max(int(protocol), 2))
    cls = type(self)
    if not _elsewhere(cls):
        return reduced
    return (_blank, (cls.__module__, cls.__qualname__), *reduced[2:])


def reduce_member(self: Any, protocol: Any) -> tuple[Any, ...]:
    """The `__reduce_ex__` of enumerations that bear PyTorch's names, and have no other."""
    return Shown(type(self)), (self.value,)


class Shown:
    """A class, to be named in a pickle: by PyTorch's name in the files of `torch.save`, else so that it is found."""

    __slots__ = ("cls",)

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __call__(self, *args: Any) -> Any:
        return self.cls(*args)

    def __reduce__(self) -> Any:
        return (_class, (self.cls.__module__, self.cls.__qualname__)) if _elsewhere(self.cls) else (_same, (self.cls,))


def _elsewhere(cls: type) -> bool:
    """Whether a class bears a name under which it would not be found."""
    if cls.__module__ != "torch" and not cls.__module__.startswith("torch."):
        return False
    return not named_in(sys.modules.get(cls.__module__), cls)


def named_in(module: ModuleType | None, cls: type) -> bool:
    """Whether a module has a class under the name that it bears."""
    found: Any = module
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls


def _same(cls: type) -> type:
    return cls


def _class(module: str, name: str) -> Any:
    """The class that PyTorch has under this name."""
    return operator.attrgetter(name)(importlib.import_module("torchlite" + module.removeprefix("torch")))


def _blank(module: str, name: str) -> Any:
    """An instance, without its state, of the class that PyTorch has under this name."""
    cls = _class(module, name)
    return cls.__new__(cls)
