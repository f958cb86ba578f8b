"""`torch.cuda`: the CUDA devices, which are CuPy's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..absent import loading as _loading
from ..core.values import DeviceLike, Told
from ..core.values.device import device as _Device
from ..core.values.device import no_cuda

has_half = True
has_magma = False
_SYNC_DEBUG_MODES = ("default", "warn", "error")

_LATER = frozenset((
    "amp", "comm", "gds", "graphs", "green_contexts", "jiterator", "memory", "nccl", "nvtx", "profiler", "random",
    "sparse", "streams", "tunable",
))  # fmt: skip
_ELSEWHERE = {
    "streams": (
        "Event", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream",
        "get_stream_from_external", "set_stream", "stream",
    ),
    "memory": (
        "caching_allocator_alloc", "caching_allocator_delete", "caching_allocator_disabled", "caching_allocator_enable",
        "get_allocator_backend", "get_per_process_memory_fraction", "host_memory_stats",
        "host_memory_stats_as_nested_dict", "list_gpu_processes", "max_memory_allocated", "max_memory_cached",
        "max_memory_reserved", "memory_cached", "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict",
        "memory_summary", "reset_accumulated_host_memory_stats", "reset_accumulated_memory_stats",
        "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_host_memory_stats",
        "reset_peak_memory_stats", "set_per_process_memory_fraction",
    ),
    "graphs": ("CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"),
    "random": (
        "default_generators", "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all",
        "seed", "seed_all", "set_rng_state", "set_rng_state_all",
    ),
    "lazy": ("_get_device_index", "_is_in_bad_fork", "_lazy_call", "_lazy_init", "_sleep"),
    "storages": (
        "BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage", "ComplexFloatStorage",
        "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage", "LongStorage", "ShortStorage",
    ),
    "unsupported": (
        "CUDAPluggableAllocator", "GreenContext", "change_current_allocator", "clock_rate", "current_blas_handle",
        "current_solver_handle", "device_memory_used", "ipc_collect", "memory_usage", "power_draw", "temperature",
        "utilization",
    ),
    "pools": ("MemPool", "use_mem_pool"),
}  # fmt: skip
_HOME = {name: room for room, names in _ELSEWHERE.items() for name in names}
_later, __dir__ = _loading(__name__, _LATER, _HOME)


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
        raise no_cuda()
    return _runtime()


def _index(device: DeviceLike) -> int:
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


def set_device(device: DeviceLike) -> None:
    """Let "cuda" mean this device."""
    index = _index(device)
    if index >= 0:
        _needed().Device(index).use()


class device:
    """Inside, "cuda" means this device."""

    def __init__(self, device: DeviceLike) -> None:
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


def synchronize(device: DeviceLike = None) -> None:
    """Wait until a device has done all it was told."""
    _needed().Device(_index(device)).synchronize()


def get_device_name(device: DeviceLike = None) -> str:
    """What a device is called."""
    name = _needed().runtime.getDeviceProperties(_index(device))["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """The major and the minor compute capability of a device."""
    number = str(_needed().Device(_index(device)).compute_capability)
    return int(number[:-1]), int(number[-1])


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device can compute in bfloat16."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """The free and the whole memory of a device, in bytes."""
    with _needed().Device(_index(device)):
        free, total = _runtime().runtime.memGetInfo()
    return int(free), int(total)


def _pool(device: DeviceLike) -> Any:
    import cupy

    with cupy.cuda.Device(_index(device)):
        return cupy.get_default_memory_pool()


def memory_allocated(device: DeviceLike = None) -> int:
    """The bytes that tensors hold on a device."""
    return int(_pool(device).used_bytes()) if is_available() else 0


def memory_reserved(device: DeviceLike = None) -> int:
    """The bytes that are kept for tensors on a device."""
    return int(_pool(device).total_bytes()) if is_available() else 0


def empty_cache() -> None:
    """Give memory that no tensor holds back to the device."""
    if is_available():
        from ..backends.cupy_memory import give_back

        give_back()


# ---- more about devices


def get_device_properties(device: DeviceLike = None) -> Any:
    """Name, memory and capability of a device."""
    index = _index(device)
    found = _needed().runtime.getDeviceProperties(index)
    major, minor = get_device_capability(index)
    return SimpleNamespace(
        name=get_device_name(index), major=major, minor=minor, total_memory=int(found["totalGlobalMem"]),
        multi_processor_count=int(found["multiProcessorCount"]), is_integrated=int(found["integrated"]),
        is_multi_gpu_board=int(found["isMultiGpuBoard"]), warp_size=int(found["warpSize"]),
    )  # fmt: skip


def can_device_access_peer(device: DeviceLike, peer_device: Any) -> bool:
    """Whether a device can read another's memory."""
    return bool(_needed().runtime.deviceCanAccessPeer(_index(device), _index(peer_device)))


def is_tf32_supported() -> bool:
    """Whether the device can multiply in TensorFloat-32."""
    return is_available() and get_device_capability()[0] >= 8


def get_arch_list() -> list[str]:
    """For which architectures PyTorch was built; CuPy compiles for the one that is there."""
    return []


def get_gencode_flags() -> str:
    """The flags for NVCC with which PyTorch was compiled: none."""
    return ""


def cudart() -> Any:
    """CUDA's runtime library, as CuPy has it."""
    return _needed().runtime


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Ask to be told, by a warning or an error, where a value of a tensor is waited for."""
    _needed()
    from ..backends import cupy_waits

    if isinstance(debug_mode, str):
        if debug_mode not in _SYNC_DEBUG_MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _SYNC_DEBUG_MODES.index(debug_mode)
    cupy_waits.told = debug_mode


def get_sync_debug_mode() -> int:
    """What is said of calls that wait for the device: 0 nothing, 1 a warning, 2 an error."""
    _needed()
    from ..backends import cupy_waits

    return cupy_waits.told


class cudaStatus:
    """What calls of CUDA's runtime return."""

    SUCCESS = 0
    ERROR_NOT_READY = 34


class CudaError(RuntimeError):
    """A call of CUDA's runtime that failed, by its number."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{_needed().runtime.getErrorString(code)} ({code})")


class DeferredCudaCallError(Told, Exception):
    """What went wrong when CUDA was taken into use."""


def check_error(res: int) -> None:
    """Raise what a number that CUDA's runtime returned stands for, if it is an error."""
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)


def __getattr__(name: str) -> Any:
    if name == "_initialized":
        return is_initialized()
    if name in ("AcceleratorError", "OutOfMemoryError"):
        from .. import exceptions

        return getattr(exceptions, name)
    if name.endswith("Tensor"):
        from ..operations.making.legacy_types import TYPES

        if f"torch.cuda.{name}" in TYPES:
            return TYPES[f"torch.cuda.{name}"]
    return _later(name)
