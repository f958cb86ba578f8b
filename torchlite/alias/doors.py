"""The ways to a module where the answer depends on who asks: with scopes, blocked packages, the real torch beside."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .missing import explanation
from .naming import inside, is_torch, own_name

if TYPE_CHECKING:
    from .layer import Alias


def install(alias: Alias) -> Callable[[], None]:
    """Ask `alias` at each door for whom it opens where; gives what puts the doors back."""
    import_, import_module, find_spec = builtins.__import__, importlib.import_module, importlib.util.find_spec

    def asker() -> str:
        return sys._getframe(2).f_globals.get("__name__", "")

    def door(
        name: str, globals: Mapping[str, Any] | None = None, locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] = (), level: int = 0,
    ) -> ModuleType:  # fmt: skip
        if level or not is_torch(name):
            return import_(name, globals, locals, fromlist, level)
        return _translated(alias, name, (globals or {}).get("__name__", ""), import_, globals, locals, fromlist)

    def module_door(name: str, package: str | None = None) -> ModuleType:
        if not is_torch(name):
            return import_module(name, package)
        return _translated(alias, name, asker(), import_module)

    def spec_door(name: str, package: str | None = None) -> ModuleSpec | None:
        if is_torch(name):
            who = asker()
            if inside(who, alias.blocked):
                return None
            if alias.renames(who):
                name = own_name(name)
        return find_spec(name, package)

    builtins.__import__, importlib.import_module, importlib.util.find_spec = door, module_door, spec_door  # type: ignore[assignment]

    def restore() -> None:
        builtins.__import__, importlib.import_module, importlib.util.find_spec = import_, import_module, find_spec

    return restore


def _translated(alias: Alias, name: str, asker: str, load: Callable[..., ModuleType], *rest: Any) -> ModuleType:
    if inside(asker, alias.blocked):
        raise ModuleNotFoundError(f"No module named {name!r} (torchlite's alias is blocked for {asker})", name=name)
    if not alias.renames(asker):
        return load(name, *rest)
    try:
        return load(own_name(name), *rest)
    except ModuleNotFoundError as error:
        if not own_name(name).startswith(str(error.name)):
            raise
        alias.missing[name] += 1
        raise ModuleNotFoundError(explanation(name, f"No module named {name!r}: "), name=name) from None
