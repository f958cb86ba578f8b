"""Names of `torch.cuda` for what CuPy does in its own way, or does not do."""

from __future__ import annotations

from typing import Any, NoReturn

from . import _needed, is_available

__all__ = [
    "CUDAPluggableAllocator", "GreenContext", "change_current_allocator", "clock_rate", "current_blas_handle",
    "current_solver_handle", "device_memory_used", "ipc_collect", "memory_usage", "power_draw", "temperature",
    "utilization",
]  # fmt: skip


def lacking_class(name: str, said: str, module: str = "torch.cuda") -> type:
    """A class that can be named, but not called."""

    def new(cls: type, *_: Any, **__: Any) -> NoReturn:
        if not is_available():
            raise RuntimeError(f"Tried to instantiate dummy base class {name}")
        raise NotImplementedError(f"torchlite has no {module}.{name}: {said}")

    return type(name, (), {"__new__": new, "__module__": module, "__doc__": f"Not there: {said}."})


def lacking_function(name: str, said: str, module: str = "torch.cuda") -> Any:
    """A function that can be named, but not called."""

    def call(*_: Any, **__: Any) -> NoReturn:
        """Raises an error: CuPy offers nothing that this could be made of."""
        _needed()
        raise NotImplementedError(f"torchlite has no {module}.{name}: {said}")

    call.__name__ = call.__qualname__ = name
    return call


_MEMORY = "memory is CuPy's: see cupy.cuda.MemoryPool and cupy.cuda.set_allocator"
_MONITOR = "ask nvidia-smi"

CUDAPluggableAllocator = lacking_class("CUDAPluggableAllocator", _MEMORY)
change_current_allocator = lacking_function("change_current_allocator", _MEMORY)
current_blas_handle = lacking_function("current_blas_handle", "see cupy.cuda.device.get_cublas_handle")
current_solver_handle = lacking_function("current_solver_handle", "see cupy.cuda.device.get_cusolver_handle")
clock_rate, device_memory_used, memory_usage, power_draw, temperature, utilization = (
    lacking_function(name, _MONITOR)
    for name in ("clock_rate", "device_memory_used", "memory_usage", "power_draw", "temperature", "utilization")
)


class GreenContext:
    """A part of a GPU: CuPy has none."""

    create, max_workqueue_concurrency, set_context, pop_context, Stream = (
        staticmethod(lacking_function(f"GreenContext.{name}", "CuPy has none"))
        for name in ("create", "max_workqueue_concurrency", "set_context", "pop_context", "Stream")
    )

    def __init__(self) -> None:
        self.create()


def ipc_collect() -> None:
    """Let go of memory that other processes have let go of, of which there is none."""
    _needed()
