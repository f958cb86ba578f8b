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
    return spelled(type(self)), (self.value,)


def spelled(named: Callable[..., Any]) -> Any:
    """What is to stand in pickles for a class or function of PyTorch's name: that, or what leads there by another."""
    return Shown(named) if _elsewhere(named) else named


class Shown:
    """Such a class or function: in the files of `torch.save` by that name, in other pickles so that it is found."""

    __slots__ = ("named",)

    def __init__(self, named: Callable[..., Any]) -> None:
        self.named = named

    def __call__(self, *args: Any) -> Any:
        return self.named(*args)

    def __reduce__(self) -> Any:
        return _named, (self.named.__module__, self.named.__qualname__)


def _elsewhere(named: Any) -> bool:
    """Whether a class, or a function, bears a name under which it would not be found."""
    return f"{named.__module__}.".startswith("torch.") and not means_this()


def means_this() -> bool:
    """Whether `torch` means torchlite, so that pickles with PyTorch's names are read by both."""
    return sys.modules.get("torch") is sys.modules["torchlite"]


def named_in(module: ModuleType | None, cls: type) -> bool:
    """Whether a module has a class under the name that it bears."""
    found: Any = module
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls


def _named(module: str, name: str) -> Any:
    """What PyTorch has under this name."""
    return operator.attrgetter(name)(importlib.import_module("torchlite" + module.removeprefix("torch")))


def _blank(module: str, name: str) -> Any:
    """An instance, without its state, of the class that PyTorch has under this name."""
    cls = _named(module, name)
    return cls.__new__(cls)
