"""One use of the alias: what it changes in the interpreter, and how each change is undone."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from types import ModuleType
from typing import Any

from . import doors
from .finder import Finder
from .missing import hollow, watch
from .naming import SITE, inside, is_torch, torch_name

_active: list[Alias] = []
_lock = threading.RLock()


class Alias:
    """The alias, from `enable` until it is disabled. The end of a `with` disables it."""

    def __init__(
        self, scope: Iterable[str] | None, blocked: Iterable[str], coexist: bool, lazy: bool, report: bool
    ) -> None:
        self.scope = None if scope is None else _names(scope)
        self.blocked = _names(blocked)
        self.everywhere = scope is None and not coexist
        self.lazy = lazy
        self.missing: Counter[str] = Counter()
        self.undo = ExitStack()
        self.on = False
        self.report: Any = None
        if report:
            from .report import Report

            self.report = Report(self.missing)

    def __enter__(self) -> Alias:
        return self

    def __exit__(self, *_: object) -> None:
        disable(self)

    def start(self) -> None:
        self.on = True
        with self.undo:
            self.undo.callback(setattr, self, "on", False)
            if self.everywhere:
                self._take_over()
            self._insert(sys.meta_path, 0, Finder(self))
            if self.blocked or not self.everywhere:
                self.undo.callback(doors.install(self))
            for name, module in list(sys.modules.items()):
                if name.partition(".")[0] == "torchlite":
                    self.adopt(module)
            if self.report is not None:
                self.undo.callback(self.report.start())
            self.undo = self.undo.pop_all()

    def stop(self) -> None:
        self.undo.close()

    def serves(self, asker: str) -> bool:
        """Whether a module sees torchlite as torch. The real torch, where it is beside, sees itself."""
        served = not is_torch(asker) if self.scope is None else inside(asker, self.scope)
        return served and not inside(asker, self.blocked)

    def renames(self, asker: str) -> bool:
        return not self.everywhere and self.serves(asker)

    def adopt(self, module: ModuleType) -> None:
        """Give a module of torchlite its name in torch, and an answer to who asks it for a name that it lacks."""
        if not self.on:
            return
        if self.everywhere:
            homed, name = _homes(module), torch_name(module.__name__)
            sys.modules.update({name: module} | {f"{name}.{also}": m for also, m in _second_names(module)})
            self.undo.callback(setattr, module, "__name__", module.__name__)
            self.undo.callback(_rename, homed, "torchlite")
            module.__name__ = name
            _rename(homed, "torch")
        restore = watch(module, self)
        if restore is not None:
            self.undo.callback(restore)
            if self.report is not None:
                self.undo.callback(self.report.watch(module))

    def stand_in(self, module: ModuleType) -> None:
        """Let an empty module, in which whatever is asked for is a placeholder, be one of torch's."""
        parent, _, name = module.__name__.rpartition(".")
        self.undo.callback(lambda: vars(sys.modules[parent]).pop(name, None))
        hollow(module, self)

    def _take_over(self) -> None:
        loaded = sys.modules.get("torch")
        if loaded is not None and not getattr(loaded, "__version__", "").endswith("+torchlite"):
            raise RuntimeError(
                "torch is already imported in this process; enable the alias before that, or with coexist=True"
            )
        before = {name: module for name, module in sys.modules.items() if is_torch(name)}
        self.undo.callback(_restore_modules, before)
        from .. import storage  # noqa: F401  # whose pickles are PyTorch's then

        # Processes that multiprocessing starts are given `sys.path` and the environment.
        self._insert(sys.path, 1, SITE)
        self.undo.callback(_set_environment, os.environ.get("TORCHLITE_ALIAS"))
        _set_environment("lazy" if self.lazy else "1")

    def _insert(self, places: list[Any], index: int, entry: Any) -> None:
        places.insert(index, entry)
        self.undo.callback(_remove, places, entry)


def _second_names(package: ModuleType) -> list[tuple[str, ModuleType]]:
    """The modules in a package that are there under names that are not their own."""
    return [
        (name, value)
        for name, value in vars(package).items()
        if isinstance(value, ModuleType)
        and value.__name__.rpartition(".")[2] != name
        and sys.modules.get(f"{package.__name__}.{name}") is value
    ]


def _homes(module: ModuleType) -> list[Any]:
    """The functions and classes that say of themselves that they are of this module, or of one in it."""
    if module.__name__ == "torchlite":  # what is published there may have its place in `torch.functional`
        names = ("torchlite", "torchlite.functional")
        return [value for value in vars(module).values() if getattr(value, "__module__", None) in names]
    inside = f"{module.__name__}.", "torchlite._C._nn."  # where functions of layers are said to be
    rooms = module, *dict(_second_names(module)).values()
    told = [(value, getattr(value, "__module__", None)) for room in rooms for value in vars(room).values()]
    return [value for value, home in told if isinstance(home, str) and f"{home}.".startswith(inside)]


def _rename(homed: list[Any], root: str) -> None:
    from ..core.values import bear_name

    for value in homed:
        home = value.__module__
        with suppress(AttributeError, TypeError):
            bear_name(value, f"{root}.{home.partition('.')[2]}" if "." in home else root)


def _names(packages: str | Iterable[str]) -> tuple[str, ...]:
    return (packages,) if isinstance(packages, str) else tuple(packages)


def _remove(places: list[Any], entry: Any) -> None:
    if entry in places:
        places.remove(entry)


def _restore_modules(before: dict[str, ModuleType]) -> None:
    for name in [name for name in sys.modules if is_torch(name)]:
        del sys.modules[name]
    sys.modules.update(before)


def _set_environment(value: str | None) -> None:
    if value is None:
        os.environ.pop("TORCHLITE_ALIAS", None)
    else:
        os.environ["TORCHLITE_ALIAS"] = value


def disable(alias: Alias | None = None) -> None:
    """Undo the latest `enable`, or the one that returned `alias` with all later ones."""
    with _lock:
        while _active and (alias is None or alias in _active):
            latest = _active.pop()
            latest.stop()
            if alias is None:
                return
