"""Where `inspect` finds classes that PyTorch has in one module, and that stand in several files here.

It looks for a class in the file of the module that the class says it is from. Such a module says that its file is all
that are beside it; their text, one after another, is what Python's cache of sources then holds under that name.
"""

from __future__ import annotations

import linecache
import os
import sys
from typing import Any

from .pickling import bear_name

_FILE = 500  # more lines than this has no file: each begins at a multiple, so that none is read before it is asked for


class _Files:
    """Loads the source of several files as one."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def get_source(self, name: str) -> str:
        lines: list[str] = []
        for at, file in enumerate(self.files):
            lines += ["\n"] * (at * _FILE - len(lines)) + linecache.getlines(file)
        return "".join(lines)


def one_source(room: dict[str, Any], *names: str) -> None:
    """Let the classes of the modules in a package be its own, whose source is theirs."""
    home = room["__name__"]
    parts = [sys.modules[f"{home}.{name}"] for name in names]
    for at, part in enumerate(parts):
        for cls in vars(part).values():
            if isinstance(cls, type) and cls.__module__ == part.__name__:
                line = vars(cls).get("__firstlineno__")  # since Python 3.13
                bear_name(cls, home)
                if line is not None:
                    cls.__firstlineno__ = at * _FILE + line  # type: ignore[attr-defined]
    files = [part.__file__ for part in parts if part.__file__]
    room["__file__"] = os.path.join(os.path.dirname(room["__file__"]), "*.py")
    linecache.lazycache(room["__file__"], {"__name__": home, "__loader__": _Files(files)})
