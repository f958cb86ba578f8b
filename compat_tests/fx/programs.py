"""What programs of `torch.fx` are written with. Each gives what it found: modules, texts, numbers, refusals."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

PROGRAMS: dict[str, Any] = {}


def program(f):
    """A program is a function of the library."""
    PROGRAMS[f.__name__.strip("_").replace("_", " ")] = f
    return f


def fx_of(lib, name=""):
    return importlib.import_module(f"{lib.__name__}.fx{name and '.'}{name}")


def refused(f, *args, **kwargs):
    """How a call is refused: the class of the error, and the first line of what it says."""
    try:
        return f(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, (str(error).splitlines() or [""])[0]


def nodes(graph):
    return [
        (n.op, n.name, str(n.target) if n.op != "call_function" else n.target.__name__, str(n.args), str(n.kwargs))
        for n in graph.nodes
    ]


class Point(NamedTuple):
    x: Any
    y: Any


def leaf_function(a, b=1):
    return a.sum() if b else a


def double(x):
    return x + x
