"""PyTorch's names for what is in pickles: the one place that knows where torchlite keeps it instead.

`find` leads from a name in a file to an object here, `name_of` from an object to the name that PyTorch finds it by.
"""

from __future__ import annotations

import functools
import importlib
import operator
import pickle
import sys
from typing import Any

from ..core.machine import Tensor, functions
from ..core.memory import STORAGES, UntypedStorage, storage_name
from ..core.native import FUNCTIONS
from ..core.values import dt, return_types
from ..core.values.schemes import qscheme
from ..operations.making.legacy_types import TYPES


class StorageType:
    """The class of a storage, as files name it."""

    def __init__(self, name: str) -> None:
        if name not in STORAGES:
            raise KeyError(f'pickle storage type "{name}" is not recognized')
        self.dtype: dt.dtype = STORAGES[name].dtype
        self.name = name

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


class Bytes(StorageType):
    """The class of storages whose elements have no class of their own."""

    def __init__(self) -> None:
        self.dtype = dt.uint8
        self.name = "UntypedStorage"


# One object each, so that pickles name each once.
STORAGE_TYPES: dict[str, StorageType] = {name: StorageType(name) for name in STORAGES} | {"UntypedStorage": Bytes()}

MISSING_STORAGES = frozenset(("QUInt4x2Storage", "QUInt2x4Storage"))


class Missing:
    """What a file names, PyTorch has, and torchlite has not; it may be named, and not be used."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self, *_: Any) -> Any:
        raise NotImplementedError(f"torchlite has no {self.name} yet, and this file needs it")

    __call__ = refuse


# Modules of PyTorch whose contents are in others here.
_MODULES = {"torch.tensor": "torchlite._tensor", "torch._C": "torchlite", "torch._C._VariableFunctions": "torchlite"}

# Classes of C++, which are looked into by name.
_NAMESPACES = {
    "torch._C._VariableFunctionsClass": "torchlite",
    "torch._C.TensorBase": Tensor,
    "torch._C._TensorBase": Tensor,
}


def return_type(name: str) -> Any:
    """What makes the results of an op with several from a tuple of them, as files say."""
    cls = return_types.made[name]
    return lambda items, more=None: cls(items)


@functools.cache
def storage_type(module: str, name: str) -> Any:
    """The storage class of this name, if it is one."""
    if module not in ("torch", "torch.cuda", "torch.storage"):
        return None
    if name in MISSING_STORAGES:
        return Missing(f"torch.{name}")
    return STORAGE_TYPES.get(name)


_TESTERS = "torch.testing._internal"  # PyTorch's own modules, where the alias has loaded them


def find(module: str, name: str) -> Any:
    """The object that PyTorch has under this name; AttributeError or ImportError if there is none here."""
    namespace = _NAMESPACES.get(f"{module}.{name}")
    if namespace is not None:
        return importlib.import_module(namespace) if isinstance(namespace, str) else namespace
    if f"{module}.{name}" in TYPES:
        return TYPES[f"{module}.{name}"]
    if module.startswith(_TESTERS):
        return operator.attrgetter(name)(sys.modules.get(module))
    home = importlib.import_module(_MODULES.get(module) or "torchlite" + module.removeprefix("torch"))
    return operator.attrgetter(name)(home)


_SPECIAL: dict[Any, tuple[str, str]] = {
    UntypedStorage: ("torch.storage", "UntypedStorage"),
}

_PRIVATE_ROOMS = ("torchlite.core", "torchlite.operations", "torchlite.backends")  # whose names PyTorch has in `torch`


def name_of(obj: Any) -> tuple[str, str] | None:
    """The module and name that PyTorch has an object under; None for what is not PyTorch's."""
    if isinstance(obj, (dt.dtype, qscheme)):
        return "torch", obj.name
    if isinstance(obj, StorageType):
        return ("torch.storage" if isinstance(obj, Bytes) else "torch"), obj.name
    if not isinstance(obj, (type, *FUNCTIONS)):
        return None
    module = getattr(obj, "__module__", None) or ""
    top = module.partition(".")[0]
    if top not in ("torch", "torchlite"):
        return None
    return _name(obj, module, obj.__qualname__)  # type: ignore[attr-defined]


def _name(obj: Any, module: str, name: str) -> tuple[str, str]:
    if obj in _SPECIAL:
        return _SPECIAL[obj]
    if functions.get(name) is obj:
        return "torch", name
    for candidate in _candidates(module, name):
        try:
            if find(candidate, name) is obj:
                return candidate, name
        except (ImportError, AttributeError):
            pass
    raise pickle.PicklingError(f"Can't pickle {obj!r}: PyTorch has no {name} under a name that leads to it")


def _candidates(module: str, name: str) -> list[str]:
    """Where PyTorch may have what torchlite has in `module`."""
    if module.startswith(_PRIVATE_ROOMS):
        return ["torch"]
    if module.endswith("._C._nn"):
        return ["torch._C._nn"]
    parts = ["torch", *module.split(".")[1:]]
    while parts[-1].startswith("_") and len(parts) > 2:
        parts.pop()
    public = ".".join(parts)
    return list(dict.fromkeys((public, ".".join(parts[:-1]))))


def storage_type_of(d: dt.dtype | None) -> StorageType:
    """How files name the class of storages of a dtype; None for bytes."""
    return STORAGE_TYPES["UntypedStorage" if d is None else storage_name(d)]
