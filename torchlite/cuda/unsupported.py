"""Names of `torch.cuda` for what CuPy does in its own way, or does not do."""

from __future__ import annotations

from typing import Any, NoReturn

from . import _needed, is_available

__all__ = [
    "CUDAPluggableAllocator", "GreenContext", "MemPool", "change_current_allocator", "clock_rate",
    "current_blas_handle", "current_solver_handle", "device_memory_used", "ipc_collect", "memory_usage", "power_draw",
    "temperature", "use_mem_pool", "utilization",
]  # fmt: skip


def _class(name: str, said: str) -> type:
    def new(cls: type, *_: Any, **__: Any) -> NoReturn:
        if not is_available():
            raise RuntimeError(f"Tried to instantiate dummy base class {name}")
        raise NotImplementedError(f"torchlite has no torch.cuda.{name}: {said}")

    return type(name, (), {"__new__": new, "__module__": "torch.cuda", "__doc__": f"Not there: {said}."})


def _function(name: str, said: str) -> Any:
    def call(*_: Any, **__: Any) -> NoReturn:
        """Raises an error: CuPy offers nothing that this could be made of."""
        _needed()
        raise NotImplementedError(f"torchlite has no torch.cuda.{name}: {said}")

    call.__name__ = call.__qualname__ = name
    return call


_MEMORY = "memory is CuPy's: see cupy.cuda.MemoryPool and cupy.cuda.set_allocator"
_MONITOR = "ask nvidia-smi"

CUDAPluggableAllocator = _class("CUDAPluggableAllocator", _MEMORY)
GreenContext = _class("GreenContext", "CuPy has none")
MemPool = _class("MemPool", _MEMORY)
use_mem_pool = _function("use_mem_pool", _MEMORY)
change_current_allocator = _function("change_current_allocator", _MEMORY)
current_blas_handle = _function("current_blas_handle", "see cupy.cuda.device.get_cublas_handle")
current_solver_handle = _function("current_solver_handle", "see cupy.cuda.device.get_cusolver_handle")
clock_rate, device_memory_used, memory_usage, power_draw, temperature, utilization = (
    _function(name, _MONITOR)
    for name in ("clock_rate", "device_memory_used", "memory_usage", "power_draw", "temperature", "utilization")
)


def ipc_collect() -> None:
    """Let go of memory that other processes have let go of, of which there is none."""
    _needed()
