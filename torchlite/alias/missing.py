"""What is said, or given, for a name that torchlite lacks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..absent import Missing, asked_by, explanation, placeholder
from .borrowed import borrowed
from .naming import inside, torch_name

if TYPE_CHECKING:
    from .layer import Alias


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
        value = borrowed(shown, name)
        if value is not None:
            return value
        error = error or AttributeError(explanation(f"{shown}.{name}"), name=name)
        doing, asker = asked_by(sys._getframe(1))
        if doing is None or inside(asker, ("torchlite",)):
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
            del vars(module)["__getattr__"]
        else:
            vars(module)["__getattr__"] = before
        if plain:
            del module.__path__

    vars(__getattr__).update(own=own, alias=alias)
    vars(module)["__getattr__"] = __getattr__
    return restore


def hollow(module: ModuleType, alias: Alias) -> None:
    """Make an empty module one that has a placeholder for every name."""

    def __getattr__(name: str) -> Missing:
        if name.startswith("__"):
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        alias.missing[f"{module.__name__}.{name}"] += 1
        return placeholder(module.__name__, name)

    vars(module)["__getattr__"] = __getattr__
