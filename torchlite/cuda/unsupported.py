"""Names of `torch.cuda` for what CuPy does in its own way, or does not do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core.values import shown_in
from ..core.values.pickling import live_here
from . import _needed, is_available

_CUDA = "torch.cuda"
_MEMORY = "memory is CuPy's: see cupy.cuda.MemoryPool and cupy.cuda.set_allocator"


def lacking_class(said: str, module: str, methods: str = "") -> Callable[[type], type]:
    """Let the class below be named, but not called, as its methods can."""

    def decorate(cls: type) -> type:
        def new(*_: Any, **__: Any) -> NoReturn:
            if not is_available():
                raise RuntimeError(f"Tried to instantiate dummy base class {cls.__name__}")
            raise NotImplementedError(f"torchlite has no {module}.{cls.__name__}: {said}")

        held = lacking_functions(f"{module}.{cls.__name__}", said, methods)
        for name, value in {"__new__": new, **held}.items():
            setattr(cls, name, staticmethod(value))
        return shown_in(module)(cls)

    return decorate


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


@lacking_class(_MEMORY, "torch.cuda.memory", "allocator")
class CUDAPluggableAllocator:
    """An allocator in a library of one's own, which CuPy takes in its own way."""


@lacking_class(
    "CuPy has none", "torch.cuda.green_contexts", "create max_workqueue_concurrency set_context pop_context Stream"
)
class GreenContext:
    """A part of a GPU, of which CuPy knows nothing."""


change_current_allocator = shown_in("torch.cuda.memory")(lacking_function("change_current_allocator", _MEMORY))


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
live_here({**globals(), "__name__": __package__}, "ipc_collect", *_REFUSED)
