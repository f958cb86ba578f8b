"""Gives what PyTorch's operator table holds (functions, lambdas, wrappers) to another library.

A public function of torch becomes the function of the same dotted path. A helper of PyTorch's own tests is made anew,
with the same code, and with ``torch`` and everything that comes from it replaced in its globals, closure and defaults.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import types
from typing import Any

import torch

from .library import Library
from .neutral import Deferred, Name

_NAMESPACES = (
    "torch",
    "torch.Tensor",
    "torch.nn.functional",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.masked",
    "torch.sparse",
    "torch.signal.windows",
    "torch.nn",
    "torch.nn.init",
    "torch.autograd",
    "torch.func",
    "torch.testing",
)
_CALLABLES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    type,
    torch._ops.OpOverloadPacket,
    torch._ops.OpOverload,
)

# Helpers that reach for torch's internals, and what serves as well: every call is seeded anyway.
_SUBSTITUTES = {torch.testing._utils.freeze_rng_state: contextlib.nullcontext}


@functools.cache
def _paths() -> dict[int, list[str]]:
    """Every public path of every callable of torch, by the callable's ``id``."""
    native = Library(torch, native=True)
    paths: dict[int, list[str]] = {}
    for namespace in _NAMESPACES:
        owner = native.get(namespace)
        for name in dir(owner):
            value = getattr(owner, name, None)
            if isinstance(value, _CALLABLES) and (getattr(value, "__module__", None) or "torch").startswith("torch"):
                paths.setdefault(id(value), []).append(f"{namespace}.{name}")
    return paths


def path_of(value: Any, preferred: str = "") -> str | None:
    """The dotted path of a callable of torch, ``preferred`` among several; ``None`` if it has no public one."""
    if isinstance(value, torch._ops.OpOverloadPacket | torch._ops.OpOverload):
        return "torch.ops." + str(value)
    try:
        paths = _paths().get(id(value), [])
    except TypeError:
        return None
    return preferred if preferred in paths else paths[0] if paths else None


def neutral_callable(value: Any, preferred: str = "") -> Name | Deferred | None:
    """The neutral form of a callable of the operator table."""
    if value is None:
        return None
    path = path_of(value, preferred)
    if path is not None:
        return Name(path)
    return Deferred(lambda library: value if library.native else Transplant(library)(value), label(value))


def label(value: Any) -> str:
    """A word for a callable without a path."""
    return getattr(value, "__qualname__", None) or type(value).__name__


class Transplant:
    """Translates objects for one library; each function once, so that recursion and sharing survive."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.done: dict[int, Any] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return self.library.get(str(value))
        if isinstance(value, torch.device):
            return self.library.module.device(str(value))
        path = path_of(value)
        if path is not None:
            return self.library.get(path)
        if isinstance(value, functools.partial):
            keywords = {name: self(item) for name, item in value.keywords.items()}
            return functools.partial(self(value.func), *map(self, value.args), **keywords)
        if isinstance(value, types.FunctionType) and value in _SUBSTITUTES:
            return _SUBSTITUTES[value]
        if isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing"):
            return self._function(value)
        if type(value) in (tuple, list):
            return type(value)(map(self, value))
        return value

    def _module(self, module: types.ModuleType) -> Any:
        name = module.__name__
        if name.partition(".")[0] != "torch" or name.startswith("torch.testing._internal"):
            return module
        return self.library.get(name)

    def _function(self, function: types.FunctionType) -> types.FunctionType:
        if id(function) in self.done:
            return self.done[id(function)]
        globals_: dict[str, Any] = {"__builtins__": __builtins__, "__name__": function.__module__}
        closure = function.__closure__
        cells = None if closure is None else tuple(types.CellType() for _ in closure)
        copy = types.FunctionType(function.__code__, globals_, function.__name__, None, cells)
        self.done[id(function)] = copy
        for name in _names_in(function.__code__):
            if name in function.__globals__:
                globals_[name] = self(function.__globals__[name])
        for cell, original in zip(cells or (), closure or ()):
            cell.cell_contents = self(original.cell_contents)
        copy.__defaults__ = self(function.__defaults__)
        if function.__kwdefaults__:
            copy.__kwdefaults__ = {name: self(item) for name, item in function.__kwdefaults__.items()}
        return copy


def _names_in(code: types.CodeType) -> set[str]:
    """The global names that a piece of code reads, inner functions included."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names
