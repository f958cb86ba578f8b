"""What a pickle may name and call when only weights are to be loaded."""

from __future__ import annotations

import _codecs
import collections
import functools
import pickle
from typing import TYPE_CHECKING, Any

from .. import _utils
from .._tensor import _rebuild_from_type_v2
from ..core import dtype as dt
from ..core.device import device
from ..core.layout import NAMES as LAYOUTS
from ..core.layout import layout
from ..core.size import Size
from ..core.storage import STORAGES, TypedStorage, UntypedStorage
from ..core.tensor import Tensor
from ..nn.parameter import Parameter
from ..ops.legacy import TYPES
from .names import MISSING_STORAGES, Missing, name_of, storage_type

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKED_MODULES = frozenset(("sys", "os", "posix", "nt"))

REBUILDERS = {getattr(_utils, name): name for name in _utils.__all__}


def _get_layout(name: str) -> layout:
    """The layout that is shown as `name`."""
    found = LAYOUTS.get(name.removeprefix("torch."))
    if not isinstance(found, layout):
        raise pickle.UnpicklingError(f"there is no layout {name}")
    return found


# ---- what may be called, and with what: each check gives the number of items that the call copies


def _is(args: tuple[Any, ...], *forms: tuple[Any, ...]) -> bool:
    return any(
        len(args) == len(form) and all(isinstance(a, kind) for a, kind in zip(args, form, strict=True))
        for form in forms
    )


def _copies(*forms: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], int]:
    def check(args: tuple[Any, ...]) -> int:
        if not _is(args, *forms):
            raise pickle.UnpicklingError(f"arguments of unexpected types: {[type(a).__name__ for a in args]}")
        return sum([len(a) for a in args if isinstance(a, _SIZED)])

    return check


_SIZED = (str, bytes, bytearray, list, tuple, dict)
_TEXT_ENCODINGS = ("latin1", "latin-1", "ascii", "utf-8", "utf8")


def _text(*forms: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], int]:
    """The same, where a last string names an encoding."""
    copied = _copies(*forms)

    def check(args: tuple[Any, ...]) -> int:
        size = copied(args)
        if len(args) == 2 and args[1] not in _TEXT_ENCODINGS:
            raise pickle.UnpicklingError(f"the encoding {args[1]!r} is not one of {', '.join(_TEXT_ENCODINGS)}")
        return size

    return check


def _retyped(args: tuple[Any, ...]) -> int:
    func, type_, inner, _ = args
    if (
        func not in REBUILDERS
        or not (isinstance(type_, type) and issubclass(type_, Tensor))
        or not isinstance(inner, tuple)
    ):
        raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {func}")
    return CHECKS[func](inner)


def _moved(args: tuple[Any, ...]) -> int:
    return args[0].nbytes  # more than there is in the file, if it is expanded


def _anything(args: tuple[Any, ...]) -> int:
    return 0


_number = (int, float)

CHECKS: dict[Any, Callable[[tuple[Any, ...]], int]] = {
    collections.OrderedDict: _copies((), (list,), (dict,)),
    collections.Counter: _copies((), (dict,)),
    _codecs.encode: _text((str, str)),
    bytearray: _text((), (bytes,), (bytearray,), (str, str)),
    set: _copies((), (list,)),
    complex: _copies((), (_number,), (_number, _number)),
    Size: _copies((tuple,), (list,)),
    device: _copies((str,), (str, int)),
    Parameter: _copies((Tensor,), (Tensor, bool)),
    _get_layout: _copies((str,)),
    _rebuild_from_type_v2: _retyped,
    **dict.fromkeys(REBUILDERS, _anything),
    _utils._rebuild_device_tensor_from_numpy: _moved,
    _utils._rebuild_device_tensor_from_cpu_tensor: _moved,
}


# ---- what may be named


@functools.cache
def _builtin() -> dict[str, Any]:
    found: dict[str, Any] = {
        "collections.OrderedDict": collections.OrderedDict, "collections.Counter": collections.Counter,
        "_codecs.encode": _codecs.encode, "builtins.bytearray": bytearray, "builtins.set": set,
        "builtins.complex": complex, "torch.Size": Size, "torch.Tensor": Tensor, "torch.device": device,
        "torch.nn.parameter.Parameter": Parameter, "torch.serialization._get_layout": _get_layout,
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
        "torch.tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
        "torch.storage.TypedStorage": TypedStorage, "torch.storage.UntypedStorage": UntypedStorage,
        "torch.UntypedStorage": UntypedStorage, "torch.TypedStorage": TypedStorage,
    }  # fmt: skip
    found |= {f"torch._utils.{name}": function for function, name in REBUILDERS.items()}
    found |= {f"torch.{d.name}": d for d in dt.NAMES.values()} | TYPES
    schemes = ("per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric")
    for name in (*schemes, "per_channel_affine_float_qparams"):
        found[f"torch.{name}"] = Missing(f"torch.{name}")
    for module in ("torch", "torch.cuda"):
        found |= {f"{module}.{name}": storage_type(module, name) for name in (*STORAGES, *MISSING_STORAGES)}
        for kind in {name.rpartition(".")[2] for name in TYPES}:
            found[f"{module}.sparse.{kind}"] = Missing(f"{module}.sparse.{kind}")
    return found


_users: list[Any] = []  # callables, and pairs of one and a name


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files that are loaded with `weights_only=True` name these classes and functions.

    An item may be a pair of such an object and the full name that files have for it.
    """
    for item in safe_globals:
        if item not in _users:
            _users.append(item)


def get_safe_globals() -> list[Any]:
    """What was added by `add_safe_globals`."""
    return list(_users)


def clear_safe_globals() -> None:
    """Forget what was added by `add_safe_globals`."""
    _users.clear()


class safe_globals:
    """What `add_safe_globals` does, until the end of a context."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.added = safe_globals

    def __enter__(self) -> None:
        self.before = list(_users)
        add_safe_globals(self.added)

    def __exit__(self, *_: object) -> None:
        _users[:] = self.before


def users() -> dict[str, Any]:
    """What was added by `add_safe_globals`, by name."""
    found = {}
    for item in _users:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(f"Expected tuple of length 2 (global, str of callable full path), but got {item}")
            obj, name = item
            if not isinstance(name, str):
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got {name}")
            found[name] = obj
        else:
            found[_full_name(item)] = item
    return found


def _full_name(obj: Any) -> str:
    try:
        torchs = name_of(obj)
    except pickle.PicklingError:
        torchs = None
    return ".".join(torchs or (obj.__module__, obj.__qualname__))


def lookup(name: str) -> Any:
    """What is always allowed under a name; KeyError if nothing is."""
    return _builtin()[name]
