"""Names of `torch.cuda` for what CuPy does in its own way, or does not do."""

from __future__ import annotations

from typing import Any, NoReturn

from . import _needed, is_available

_CUDA = "torch.cuda"
_MEMORY = "memory is CuPy's: see cupy.cuda.MemoryPool and cupy.cuda.set_allocator"


def lacking_class(name: str, said: str, module: str = _CUDA, methods: str = "") -> type:
    """A class that can be named, but not called, as its methods can."""

    def new(cls: type, *_: Any, **__: Any) -> NoReturn:
        if not is_available():
            raise RuntimeError(f"Tried to instantiate dummy base class {name}")
        raise NotImplementedError(f"torchlite has no {module}.{name}: {said}")

    held = lacking_functions(f"{module}.{name}", said, methods)
    doc = {"__new__": new, "__module__": module, "__doc__": f"Not there: {said}."}
    return type(name, (), doc | {method: staticmethod(call) for method, call in held.items()})


def lacking_function(name: str, said: str, module: str = _CUDA) -> Any:
    """A function that can be named, but not called."""

    def call(*_: Any, **__: Any) -> NoReturn:
        """Raises an error: CuPy offers nothing that this could be made of."""
        _needed()
        raise NotImplementedError(f"torchlite has no {module}.{name}: {said}")

    call.__name__ = call.__qualname__ = name
    return call


def lacking_functions(module: str, said: str, names: str) -> dict[str, Any]:
    """Functions of a module, or of a class, that can be named, but not called."""
    return {name: lacking_function(name, said, module) for name in names.split()}


CUDAPluggableAllocator = lacking_class("CUDAPluggableAllocator", _MEMORY, methods="allocator")
GreenContext = lacking_class(
    "GreenContext", "CuPy has none", methods="create max_workqueue_concurrency set_context pop_context Stream"
)
change_current_allocator = lacking_function("change_current_allocator", _MEMORY)


def ipc_collect() -> None:
    """Let go of memory that other processes have let go of, of which there is none."""
    _needed()


_MONITORS = "clock_rate device_memory_used memory_usage power_draw temperature utilization"
_REFUSED = {
    **lacking_functions(_CUDA, "ask nvidia-smi", _MONITORS),
    **lacking_functions(_CUDA, "see cupy.cuda.device.get_cublas_handle", "current_blas_handle"),
    **lacking_functions(_CUDA, "see cupy.cuda.device.get_cusolver_handle", "current_solver_handle"),
}
globals().update(_REFUSED)
__all__ = ["CUDAPluggableAllocator", "GreenContext", "change_current_allocator", "ipc_collect", *_REFUSED]
