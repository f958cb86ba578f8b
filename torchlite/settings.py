"""Settings of the whole process: threads, precision, determinism, warnings."""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from collections.abc import Callable
from typing import Any

from .core.declare import taking
from .core.native import native
from .core.values import errors
from .core.values.determinism import determinism
from .core.values.precision import allow_tf32

__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "init_num_threads", "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled", "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
    "set_num_interop_threads", "set_num_threads", "set_warn_always", "use_deterministic_algorithms",
]  # fmt: skip

# ---- threads: those of the kernels in C, and of NumPy's BLAS

_interop_threads: int | None = None


def _threads_at_first() -> int:
    """What the environment asks for, which BLAS has read too; or as many as there are processors for this process."""
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if asked.isdecimal() and int(asked):
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = _threads_at_first()
if native is not None:
    native.use_threads(_threads)

_SETTERS = (
    "scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads", "openblas_set_num_threads64_",
    "openblas_set_num_threads", "MKL_Set_Num_Threads",
)  # fmt: skip


@functools.cache
def _blas_setter() -> Callable[[int], object] | None:
    """The function of the BLAS that NumPy is linked with; None where it has none, or none that is found so."""
    try:
        library = ctypes.CDLL(importlib.import_module("numpy._core._multiarray_umath").__file__)
    except (ImportError, OSError):
        return None
    return next((getattr(library, name) for name in _SETTERS if hasattr(library, name)), None)


def _positive(function: str, value: Any) -> int:
    if type(value) is not int:
        raise RuntimeError(f"{function} expects an int, but got {type(value).__name__}")
    if value <= 0:
        raise RuntimeError(f"{function} expects a positive integer")
    return value


def set_num_threads(num: int, /) -> None:
    """Let operations use so many threads: the kernels of the native build, and NumPy's BLAS."""
    global _threads
    _threads = _positive("set_num_threads", num)
    if native is not None:
        native.use_threads(_threads)
    if (limit := _blas_setter()) is not None:
        limit(_threads)


def get_num_threads() -> int:
    """How many threads operations may use."""
    return _threads


def init_num_threads() -> None:
    """Prepare this thread; there is nothing to prepare."""


def set_num_interop_threads(num: int, /) -> None:
    """Say once how many operations may run beside each other; here, that is up to who calls them."""
    global _interop_threads
    number = _positive("set_num_interop_threads", num)
    if _interop_threads is not None:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or set_num_interop_threads "
            "called"
        )
    _interop_threads = number


def get_num_interop_threads() -> int:
    """The number of inter-op threads: as set, else that of processors."""
    return _interop_threads or os.cpu_count() or 1


# ---- precision

_PRECISIONS = ("highest", "high", "medium")
_SHORT = {"none": "highest", "ieee": "highest", "tf32": "high"}


class _Matmul:
    """How precise products of matrices must be."""

    _allowed = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")

    def __init__(self) -> None:
        self.__dict__.update(dict.fromkeys(self._allowed, True), precision="highest", allow_fp16_accumulation=False)

    @property
    def allow_tf32(self) -> bool:
        return self.precision != "highest"

    @property
    def fp32_precision(self) -> str:
        return "tf32" if self.allow_tf32 else "none"

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            name, value = "precision", "high" if value else "highest"
        elif name == "fp32_precision":
            name, value = "precision", _SHORT[value]
        if name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        self.__dict__[name] = value
        if name == "precision":
            allow_tf32(self.allow_tf32)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")


matmul = _Matmul()


def set_float32_matmul_precision(precision: str) -> None:
    """How precise products of float32 matrices must be; they are always as precise as "highest" asks on the CPU."""
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision in _PRECISIONS:
        matmul.precision = precision
    else:
        errors.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has "
            "no effect."
        )


def get_float32_matmul_precision() -> str:
    """The precision that `set_float32_matmul_precision` has set."""
    return matmul.precision


# ---- determinism: every kernel is deterministic; what heeds this is memory that nobody wrote to, and `put_`

_DEBUG_MODES = ("default", "warn", "error")


@taking("_set_deterministic_algorithms(bool mode, *, bool warn_only=False)")
def use_deterministic_algorithms(mode: bool, warn_only: bool = False) -> None:
    """Ask for deterministic kernels, of which there are no others."""
    set_deterministic_debug_mode(0 if not mode else 1 if warn_only else 2)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic kernels were asked for."""
    return determinism.debug_mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether others were to cause no more than a warning."""
    return determinism.debug_mode == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same as numbers or words: 0 "default", 1 "warn", 2 "error"."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    determinism.debug_mode = debug_mode


def get_deterministic_debug_mode() -> int:
    """The mode that `set_deterministic_debug_mode` has set, as a number."""
    return determinism.debug_mode


# ---- warnings and numbers


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that are given once are given each time."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    errors.warn_always = b


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always` is on."""
    return errors.warn_always


def set_vital(*_: Any) -> None:
    """Nothing: vitals are counted no more, in PyTorch neither."""
    errors.warn("'set_vital' is deprecated, please do not call")


def set_flush_denormal(mode: bool, /) -> bool:
    """Have numbers too small for full precision taken for zero, which NumPy cannot: False says that it is not done."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {errors.type_name(mode)}")
    return False
