"""What CuPy offers: its functions with their parameters, its ufuncs with their loops, its arrays' methods.

The list lies beside this file, so that the strict backend can be as strict without CuPy. With a CuPy installed,
`python -m torchlite.testing.surface` writes it anew.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_name("cupy_surface.txt")
_MODULES = ("linalg", "fft")


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function, as words: `a`, `*` before those that go by name only, `*args`, `**kwargs`."""

    words: tuple[str, ...]

    @functools.cached_property
    def names(self) -> frozenset[str]:
        return frozenset(word for word in self.words if not word.startswith("*"))

    @functools.cached_property
    def positional(self) -> int | None:
        """How many arguments may be given by position; None for any number."""
        for at, word in enumerate(self.words):
            if word.startswith("*"):
                return at if word == "*" or word.startswith("**") else None
        return len(self.words)

    def check(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """TypeError for a call that CuPy would not take."""
        if self.positional is not None and len(args) > self.positional:
            raise TypeError(f"CuPy's {name}() takes {self.positional} positional arguments, not {len(args)}")
        if any(word.startswith("**") for word in self.words):
            return
        for word in kwargs:
            if word not in self.names:
                raise TypeError(f"CuPy's {name}() has no parameter '{word}'")


@dataclass
class Surface:
    """Names by kind. Loops are pairs of type characters, those of the operands and those of the results."""

    version: str = ""
    values: set[str] = field(default_factory=set)
    functions: dict[str, Parameters] = field(default_factory=dict)
    ufuncs: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    scatters: set[str] = field(default_factory=set)  # ufuncs with `at`
    attributes: set[str] = field(default_factory=set)
    methods: dict[str, Parameters] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield f"version {self.version}"
        for name in sorted(self.values):
            yield f"value {name}"
        for name, parameters in sorted(self.functions.items()):
            yield " ".join(["function", name, *parameters.words])
        for name, loops in sorted(self.ufuncs.items()):
            yield " ".join(["scatter" if name in self.scatters else "ufunc", name, *map("->".join, loops)])
        for name in sorted(self.attributes):
            yield f"attribute {name}"
        for name, parameters in sorted(self.methods.items()):
            yield " ".join(["method", name, *parameters.words])


@functools.cache
def listed() -> Surface:
    """The surface as it is written down."""
    surface = Surface()
    for line in LIST.read_text().splitlines():
        kind, name, *words = line.split()
        match kind:
            case "version":
                surface.version = name
            case "value":
                surface.values.add(name)
            case "function":
                surface.functions[name] = Parameters(tuple(words))
            case "ufunc" | "scatter":
                surface.ufuncs[name] = tuple([tuple(word.split("->")) for word in words])  # type: ignore[misc]
                if kind == "scatter":
                    surface.scatters.add(name)
            case "attribute":
                surface.attributes.add(name)
            case "method":
                surface.methods[name] = Parameters(tuple(words))
    return surface


def of_cupy() -> Surface:
    """The surface of the CuPy that is installed. It needs no GPU."""
    import cupy

    surface = Surface(cupy.__version__)
    for prefix, module in (("", cupy), *((f"{name}.", getattr(cupy, name)) for name in _MODULES)):
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(value) or name == "annotations":
                continue
            if isinstance(value, cupy.ufunc):
                surface.ufuncs[name] = tuple([tuple(loop.split("->")) for loop in value.types])
                if value._scatter_op:
                    surface.scatters.add(name)
            elif callable(value) and not isinstance(value, type):
                surface.functions[prefix + name] = _parameters(value)
            else:
                surface.values.add(prefix + name)
    for name in dir(cupy.ndarray):
        if not name.startswith("_"):
            value = getattr(cupy.ndarray, name)
            if callable(value):
                surface.methods[name] = Parameters(_parameters(value).words[1:])
            else:
                surface.attributes.add(name)
    return surface


def _parameters(function: Callable[..., Any]) -> Parameters:
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # Cython's functions say it in the first line of their documentation
        said = re.match(r"[\w.]+\((.*)\)", function.__doc__ or "")
        if said is None:
            return Parameters(("*args", "**kwargs"))
        return Parameters(tuple([word.split("=")[0].split()[-1] for word in said[1].split(",") if word]))
    words: list[str] = []
    for parameter in given:
        if parameter.kind is parameter.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")  # type: ignore[call-overload]
        words.append(stars + parameter.name)
    return Parameters(tuple(words))


if __name__ == "__main__":
    LIST.write_text("".join(f"{line}\n" for line in of_cupy().lines()))
