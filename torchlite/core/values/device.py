"""Devices: `torch.device`, which one a tensor is made on when nobody says, and the backends that compute on them."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..state import Context
from ..state import mode as _mode
from .errors import type_name
from .pickling import shown_in, spelled
from .sealed import sealed

if TYPE_CHECKING:
    from ...backends.base import Backend

_PATTERN = re.compile(r"([a-z_0-9]*[a-z_][a-z_0-9]*)(?::(0|[1-9]\d*))?")

# Device types that may be named: PyTorch's, and those that registered backends add.
KNOWN_TYPES: list[str] = [
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
]  # fmt: skip


_devices: dict[tuple[str, int | None], device] = {}


@shown_in("torch")
class device(Context):
    """Where a tensor lives: `device("cuda:1")`, `device("cuda", 1)` or `device("cpu")`. There is one object for each.

    As a context manager it is the default for tensors created inside.
    """

    __slots__ = ("index", "type")
    index: int | None
    type: str

    def __new__(cls, type: Any, index: int | None = None) -> device:
        if isinstance(type, bytes):
            type = type.decode()
        if index is None and isinstance(type, device):
            type, index = type.type, type.index
        elif index is None and _is_index(type):
            type, index = _of_index(_checked_index(type))
        elif not isinstance(type, str):
            raise _no_device(type) if index is None else TypeError(
                f"device(): argument 'type' (position 1) must be str, not {type_name(type)}"
            )
        elif index is None:
            type, index = _parse(type)
        elif not _is_index(index):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {type_name(index)}")
        elif ":" in type:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        if type not in KNOWN_TYPES:
            find_installed()
            if type not in KNOWN_TYPES:
                raise RuntimeError(
                    f"Expected one of {', '.join(KNOWN_TYPES)} device type at start of device string: {type}"
                )
        name = type, None if index is None else _checked_index(index)
        return _devices.get(name) or _devices.setdefault(name, _new(cls, name))

    def __repr__(self) -> str:
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{number})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __lt__(self, other: Any) -> bool:
        raise TypeError("comparison not implemented")

    __le__ = __gt__ = __ge__ = __lt__

    def __reduce__(self) -> tuple[Any, ...]:
        return spelled(device), (self.type,) if self.index is None else (self.type, self.index)

    def _take(self, state: _mode.State) -> device | None:
        return state.default_device

    def _set(self, state: _mode.State, kept: device | None) -> device:
        state.default_device = self
        return self

    def _put(self, state: _mode.State, kept: device | None) -> None:
        state.default_device = kept


def _new(cls: type[device], name: tuple[str, int | None]) -> device:
    made = object.__new__(cls)
    for part, value in zip(("type", "index"), name, strict=True):
        object.__setattr__(made, part, value)
    return made


sealed(device, more=True)


def _no_device(value: Any) -> TypeError:
    got = type_name(value)
    return TypeError(
        f"device() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        " * (torch.device device)\n      didn't match because some of the arguments have invalid types: "
        f"(!{got}!)\n * (str type, int index = -1)\n"
    )


def _of_index(index: int) -> tuple[str, int]:
    """Which device is meant by a number alone."""
    try:
        get_backend("cuda")
    except AssertionError as error:
        raise RuntimeError("Cannot access accelerator device when none is available.") from error
    return "cuda", index


def _is_index(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and not hasattr(value, "_array")  # of a tensor


def _checked_index(index: Any) -> int:
    number = index.__index__()
    if not -(2**63) <= number < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if number < 0:
        raise RuntimeError("Device index must not be negative")
    return number


def _parse(text: str) -> tuple[str, int | None]:
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    name, index = match.groups()
    return name, None if index is None else int(index)


def get_default_device() -> device:
    """The device on which tensors are made when none is named."""
    return _mode.local.state.default_device or CPU


def set_default_device(device_: device | str | int | None) -> None:
    """Make tensors on `device_` from now on, in this thread; None restores the CPU."""
    _mode.local.state.default_device = None if device_ is None else device(device_)


CPU = device("cpu")


# ---- the backends of devices

_makers: dict[str, Callable[[device], Backend]] = {}
_current: dict[str, Callable[[], int]] = {}
_made: dict[device, Backend] = {}

_ONLY_ONE = frozenset(("cpu", "meta"))  # types whose devices have no number
_on_demand: dict[str, str] = {}  # modules that register a type when it is first used


def register_backend(name: str, make: Callable[[device], Backend], current: Callable[[], int] = lambda: 0) -> None:
    """Let `torch.device(name)` stand for the backend that `make(device)` returns.

    Several devices of the type have numbers; `current()` is that of the one which the name alone means.
    """
    _makers[name] = make
    _current[name] = current
    if name not in KNOWN_TYPES:
        KNOWN_TYPES.append(name)


def register_on_demand(name: str, module: str) -> None:
    """Let a module be imported, which registers a type, when that is first used."""
    _on_demand[name] = module


def backend_names() -> list[str]:
    """The device types that have a backend, those included that are loaded when first used."""
    find_installed()
    return list(dict.fromkeys((*_makers, *_on_demand)))


def _loaded(entry: Any, where: device) -> Backend:
    return entry.load()(where)


def find_installed() -> None:
    """Register the backends that installed packages offer."""
    import importlib.metadata

    for entry in importlib.metadata.entry_points(group="torchlite.backends"):
        if entry.name not in _makers:
            register_backend(entry.name, functools.partial(_loaded, entry))


def get_backend(where: device | str | int | None = None) -> Backend:
    """The backend of a device; the same object every time."""
    d = CPU if where is None else where if isinstance(where, device) else device(where)
    found = _made.get(d)
    return _make(d) if found is None else found


def _make(d: device) -> Backend:
    if d.type in _on_demand and d.type not in _makers:
        try:
            importlib.import_module(_on_demand[d.type])
        except ImportError as error:
            raise _unavailable(d.type) from error
    make = _makers.get(d.type)
    if make is None:
        raise _unavailable(d.type)
    if d.type in _ONLY_ONE:
        if d.index is not None:
            return get_backend(d.type)
    elif d.index is None:
        return get_backend(device(d.type, _current[d.type]()))
    found = _made[d] = make(d)
    return found


def no_cuda() -> AssertionError:
    """PyTorch's error where there is no CUDA device; a note says what is missing."""
    error = AssertionError("Torch not compiled with CUDA enabled")
    if importlib.util.find_spec("cupy") is None:
        needed = "CuPy, which is not installed: pip install 'torchlite-numpy[cuda12]', or [cuda13] for CUDA 13"
    else:
        needed = "CuPy, which is installed but finds no device; `python -m torchlite --info` says what there is"
    error.add_note(f"torchlite computes on CUDA devices with {needed}")
    return error


def _unavailable(type_: str) -> Exception:
    """The error for a type that PyTorch knows and nothing here computes on."""
    if type_ == "cuda":
        return no_cuda()
    if type_ == "xpu":
        return AssertionError("Torch not compiled with XPU enabled")
    return NotImplementedError(
        f"Could not run 'aten::empty.memory_format' with arguments from the '{type_.upper()}' backend. "
        f"torchlite has no backend of this name; there are {', '.join(backend_names())}."
    )
