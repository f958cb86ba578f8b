"""What PyTorch has and torchlite has not: what is said of such a name, and what stands in its place."""

from __future__ import annotations

import importlib
import opcode
import sys
from abc import ABCMeta
from collections.abc import Callable, Collection, Container, Mapping
from fnmatch import fnmatchcase
from types import FrameType
from typing import Any, NoReturn

_QUANTISED = """
    torch.ao.* torch.quantization.* torch.nn.quantized.* torch.nn.intrinsic.*
    quantization ao qat quantizable intrinsic
"""
_SEMI_STRUCTURED = "*_sparse_semi_structured* _cslt_*"
_LACKING = {
    "functions of pieces of tensors over meshes": "torch.distributed.tensor.experimental*",
    "remote calls": "torch.distributed.rpc*",
    "graphs of functions (torch.compile and torch.jit run them as they are)": "torch.export.* torch._inductor.*",
    "modules of quantised tensors": _QUANTISED,
    "kernels of semi-structured sparse tensors": _SEMI_STRUCTURED,
    "kernels of oneDNN (torch.nn.functional computes the same)": "mkldnn_* to_mkldnn",
    "TorchScript": "import_ir_module* parse_ir parse_type_comment merge_type_from_type_comment unify_type_list",
    "such devices": "ipu mtia hpu",
}


# Where names are looked for that somebody expects elsewhere.
_ROOMS = (
    "torch", "nn", "nn.functional", "optim", "optim.lr_scheduler", "utils.data", "linalg", "fft", "special", "func",
    "autograd", "autograd.functional", "nn.utils", "nn.init", "distributions", "cuda", "amp",
)  # fmt: skip


def why(name: str) -> str:
    """What to say of a name that there is not: what it would need, or what was meant."""
    last = name.rpartition(".")[2]
    for lacking, patterns in _LACKING.items():
        if any(fnmatchcase(name if "." in pattern else last, pattern) for pattern in patterns.split()):
            return f": it has no {lacking}"
    meant = _elsewhere(last) or _nearest(name)
    # What is there by this name is no module, if one was asked for.
    return " yet (docs/coverage.md lists what there is)" if meant in (None, name) else f": did you mean {meant}?"


def _public(module: str) -> list[str]:
    """The names of a module of torch; none where there is no such module."""
    try:
        found = importlib.import_module("torchlite" + module.removeprefix("torch"))
    except ImportError:
        return []
    return [name for name in getattr(found, "__all__", dir(found)) if not name.startswith("_")]


def _elsewhere(last: str) -> str | None:
    """Where in torch there is something of this name."""
    for room in _ROOMS:
        shown = room if room == "torch" else f"torch.{room}"
        if last in _public(shown):
            return f"{shown}.{last}"
    owner = sys.modules["torchlite"].Tensor
    return f"the method torch.Tensor.{last}" if last in vars(owner) else None


def _nearest(name: str) -> str | None:
    """What the module has that is spelled much like a name."""
    import difflib

    space, _, last = name.rpartition(".")
    names = _public(space)
    letters = _letters(last)
    near = (
        [name for name in names if _letters(name) == letters]
        or [name for name in names if sorted(_letters(name)) == sorted(letters)]
        or difflib.get_close_matches(last, names, 1, 0.7)
        or [name for name in names if len(last) > 2 and name.startswith(last)]
    )
    return f"{space}.{near[0]}" if near else None


def _letters(name: str) -> str:
    """A name without what is easily mistaken in it."""
    return name.replace("_", "").lower()


class _Explanation(str):
    """What is said of a missing name. Why it is missing is found out when that is read: most only ask for the name."""

    __slots__ = ("name",)

    name: str

    def __str__(self) -> str:
        return f"{str.__str__(self)}{why(self.name)}"

    def __format__(self, _: str) -> str:
        return str(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str, (str(self),)


def explanation(name: str, before: str = "") -> str:
    said = _Explanation(f"{before}torchlite has no {name}")
    said.name = name
    return said


_NOWHERE: Mapping[str, str] = {}


def lacking(module: str, modules: Container[str] = (), homes: Mapping[str, str] = _NOWHERE) -> Callable[[str], Any]:
    """The `__getattr__` of a module, which says of what it lacks what was meant.

    It loads `modules` of a package, and the modules in which some names have their `homes`, when they are used. Python
    adds guesses to errors that have `obj` as well as `name`, and sets both where neither is given.
    """

    def __getattr__(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f".{name}", module)
        if name in homes:
            found = vars(sys.modules[module])[name] = getattr(importlib.import_module(f".{homes[name]}", module), name)
            return found
        raise AttributeError(explanation(f"{module.replace('torchlite', 'torch', 1)}.{name}"), name=name)

    return __getattr__


def loading(
    module: str, modules: Collection[str] = (), homes: Mapping[str, str] = _NOWHERE
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` of a module, and a `__dir__` that shows from the start what it loads later."""
    shown = vars(sys.modules[module])
    return lacking(module, modules, homes), lambda: sorted({*shown, *modules, *homes} - {"annotations"})


class Missing(ABCMeta):
    """The class of placeholders: classes that can be named, subclassed and asked about, but not called."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        lacking = next(c for c in cls.__mro__ if isinstance(c, Missing) and c.__bases__ == (object,))
        raise NotImplementedError(explanation(f"{lacking.__module__}.{lacking.__qualname__}"))

    def __getattr__(cls, name: str) -> Missing:
        if name.startswith("__") or cls.__bases__ != (object,) or asked_by(sys._getframe(1))[0] is None:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        parts = cls.__dict__["_parts"]
        if name not in parts:
            parts[name] = placeholder(cls.__module__, f"{cls.__qualname__}.{name}")
        return parts[name]

    def __getitem__(cls, _: Any) -> Missing:
        return cls


def placeholder(module: str, name: str) -> Missing:
    """Stands for what PyTorch has in a module by this name."""
    doc = "Not there: it can be named, subclassed and asked about, but not called."
    names = {"__module__": module, "__qualname__": name, "__doc__": doc, "_parts": {}}
    return Missing(name.rpartition(".")[2], (), names)


def placeholders(module: str, names: str) -> dict[str, Missing]:
    """What stands for several names of one of PyTorch's modules."""
    return {name: placeholder(module, name) for name in names.split()}


def asked_by(frame: FrameType) -> tuple[str | None, str]:
    """How an attribute is read, None for those who only ask whether it is there (`hasattr`); and from which package."""
    package = frame.f_globals.get("__package__")
    if package == "torchlite.alias" and frame.f_code.co_name == "__getattribute__" and frame.f_back is not None:
        frame = frame.f_back  # a report read it for somebody
    how = opcode.opname[frame.f_code.co_code[frame.f_lasti]]
    reads = how in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")
    return how if reads else None, frame.f_globals.get("__package__") or ""
