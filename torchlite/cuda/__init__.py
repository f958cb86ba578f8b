"""`torch.cuda`: the CUDA devices, which are CuPy's."""

from __future__ import annotations

import importlib
from typing import Any

from ..core.device import device as _Device

_NAMED_LATER = {"amp": ".amp"}


def _runtime() -> Any:
    """CuPy's `cuda` module; None where there is no CuPy."""
    try:
        import cupy
    except ImportError:
        return None
    return cupy.cuda


def _needed() -> Any:
    """CuPy's `cuda` module, where there is a device to use it on."""
    if not device_count():
        raise AssertionError("Torch not compiled with CUDA enabled")
    return _runtime()


def _index(device: Any) -> int:
    """The number of a device given as a number, a name or a `torch.device`; of the current one for None."""
    if isinstance(device, int):
        return device
    named = None if device is None else _Device(device)
    if named is not None and named.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {named}")
    return current_device() if named is None or named.index is None else named.index


def is_available() -> bool:
    """Whether there is a CUDA device, and CuPy to use it with."""
    return device_count() > 0


def device_count() -> int:
    """How many CUDA devices there are."""
    runtime = _runtime()
    if runtime is None:
        return 0
    try:
        return int(runtime.runtime.getDeviceCount())
    except runtime.runtime.CUDARuntimeError:
        return 0


def is_initialized() -> bool:
    """Whether CUDA is in use; CuPy takes it into use by itself."""
    return is_available()


def init() -> None:
    """Take CUDA into use, which happens by itself at the first need."""
    _needed()


def current_device() -> int:
    """The number of the device that "cuda" means."""
    return int(_needed().runtime.getDevice())


def set_device(device: Any) -> None:
    """Let "cuda" mean this device."""
    index = _index(device)
    if index >= 0:
        _needed().Device(index).use()


class device:
    """Inside, "cuda" means this device."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else _index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *_: object) -> None:
        if self.prev_idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """Inside, "cuda" means the device of a tensor; nothing changes for one of the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else None)


def synchronize(device: Any = None) -> None:
    """Wait until a device has done all it was told."""
    _needed().Device(_index(device)).synchronize()


def get_device_name(device: Any = None) -> str:
    """What a device is called."""
    name = _needed().runtime.getDeviceProperties(_index(device))["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The major and the minor compute capability of a device."""
    number = str(_needed().Device(_index(device)).compute_capability)
    return int(number[:-1]), int(number[-1])


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device can compute in bfloat16."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and the whole memory of a device, in bytes."""
    with _needed().Device(_index(device)):
        free, total = _runtime().runtime.memGetInfo()
    return int(free), int(total)


def _pool(device: Any) -> Any:
    import cupy

    with cupy.cuda.Device(_index(device)):
        return cupy.get_default_memory_pool()


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors hold on a device."""
    return int(_pool(device).used_bytes()) if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """The bytes that are kept for tensors on a device."""
    return int(_pool(device).total_bytes()) if is_available() else 0


def empty_cache() -> None:
    """Give memory that no tensor holds back to the device."""
    if is_available():
        _pool(None).free_all_blocks()


def manual_seed(seed: int) -> None:
    """Seed the current device's random numbers; nothing is done where there is none."""
    if is_available():
        manual_seed_all(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all devices; nothing is done where there are none."""
    if is_available():
        import cupy

        for index in range(device_count()):
            with cupy.cuda.Device(index):
                cupy.random.seed(seed)


def __getattr__(name: str) -> Any:
    if name in _NAMED_LATER:
        return importlib.import_module(_NAMED_LATER[name], __name__)
    raise AttributeError(f"torchlite has no torch.cuda.{name} yet (docs/coverage.md lists what there is)")
