"""What is said, or given, for a name that torchlite lacks."""

from __future__ import annotations

import opcode
import sys
from abc import ABCMeta
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from .naming import torch_name

if TYPE_CHECKING:
    from .layer import Alias


def explanation(name: str) -> str:
    from ..absent import why

    return f"torchlite has no {name}{why(name.rpartition('.')[2])}"


class Missing(ABCMeta):
    """The class of placeholders: classes that can be named, subclassed and asked about, but not called."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        lacking = next(c for c in cls.__mro__ if isinstance(c, Missing) and c.__bases__ == (object,))
        raise NotImplementedError(explanation(f"{lacking.__module__}.{lacking.__qualname__}"))

    def __getattr__(cls, name: str) -> Missing:
        if name.startswith("__") or cls.__bases__ != (object,):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return placeholder(cls.__module__, f"{cls.__qualname__}.{name}")

    def __getitem__(cls, _: Any) -> Missing:
        return cls


def placeholder(module: str, name: str) -> Missing:
    return Missing(name.rpartition(".")[2], (), {"__module__": module, "__qualname__": name})


def watch(module: ModuleType, alias: Alias) -> Callable[[], None] | None:
    """Answer for the names that a module lacks; gives what undoes it, or None where it was done already."""
    before = vars(module).get("__getattr__")
    if getattr(before, "alias", None) is alias:
        return None
    own = getattr(before, "own", before)
    shown = torch_name(module.__name__)

    def __getattr__(name: str) -> Any:
        error = None
        if own is not None:
            try:
                return own(name)
            except AttributeError as refusal:
                error = refusal
        if name.startswith("__"):
            raise AttributeError(f"module {shown!r} has no attribute {name!r}", name=name, obj=module)
        error = error or AttributeError(explanation(f"{shown}.{name}"), name=name, obj=module)
        doing, asker = _asked_by(sys._getframe(1))
        if doing is None or asker.startswith("torchlite."):
            raise error
        alias.missing[f"{shown}.{name}"] += 1
        if alias.lazy:
            return placeholder(shown, name)
        if doing == "IMPORT_FROM":
            raise ImportError(f"cannot import name {name!r} from {shown!r}: {error}", name=shown)
        raise error

    plain = not hasattr(module, "__path__")
    if plain:
        module.__path__ = []  # so that the finder is asked for what others have inside it

    def restore() -> None:
        if before is None:
            del module.__getattr__
        else:
            module.__getattr__ = before
        if plain:
            del module.__path__

    __getattr__.own = own
    __getattr__.alias = alias
    module.__getattr__ = __getattr__
    return restore


def hollow(module: ModuleType, alias: Alias) -> None:
    """Make an empty module one that has a placeholder for every name."""

    def __getattr__(name: str) -> Missing:
        if name.startswith("__"):
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        alias.missing[f"{module.__name__}.{name}"] += 1
        return placeholder(module.__name__, name)

    module.__getattr__ = __getattr__


def _asked_by(frame: FrameType) -> tuple[str | None, str]:
    """How an attribute is read, None for those who only ask whether it is there (`hasattr`); and by which module."""
    if frame.f_globals.get("__name__") == "torchlite.alias.report":
        frame = frame.f_back  # which read it for somebody
    how = opcode.opname[frame.f_code.co_code[frame.f_lasti]]
    reads = how in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")
    return how if reads else None, frame.f_globals.get("__name__", "")
