"""Where `inspect` finds classes: it looks in the file of the module that a class names, and many name PyTorch's.

PyTorch has `inspect.getfile` know of the classes of its packages in the same way.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import re
import sys
from types import ModuleType
from typing import Any

from .pickling import named_in

_getfile = inspect.getfile


@functools.wraps(_getfile)
def _asked_first(object: Any) -> str:
    return (inspect.isclass(object) and _file(object)) or _getfile(object)


def _file(cls: type) -> str | None:
    """The file of torchlite that a class is written in."""
    if str(getattr(cls, "__module__", None)).partition(".")[0] not in ("torch", "torchlite"):
        return None
    statement = re.compile(rf"\s*class {cls.__name__}\b")
    outermost = cls.__qualname__.partition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torchlite" and isinstance(module, ModuleType) and outermost in vars(module):
            file = getattr(module, "__file__", None)
            if file and named_in(module, cls) and any(map(statement.match, linecache.getlines(file))):
                return file
    return None


inspect.getfile = _asked_first
