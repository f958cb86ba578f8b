"""CUDA's runtime: CuPy's functions for it are replaced before CuPy is imported.

`cupy_backends.cuda.api.runtime` shows its C functions to the other modules in `__pyx_capi__`, a table of capsules that
these read when they are imported. A capsule's name is the signature, by which its function is called from Python, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from . import build

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
_api.PyCapsule_GetName.restype = ctypes.c_void_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]

_TYPES = {
    "int": ctypes.c_int, "unsigned int": ctypes.c_uint, "intptr_t": ctypes.c_ssize_t, "size_t": ctypes.c_size_t,
    "uintmax_t": ctypes.c_size_t, "float": ctypes.c_float, "PyObject *": ctypes.py_object,
}  # fmt: skip
_kept: list[Any] = []  # capsules whose functions others may hold

# What needs no device is left as it is.
_OWN = frozenset(("check_status", "runtimeGetVersion", "_getCUDAMajorVersion"))


def install(memory: int) -> Any:
    """Replace the runtime, the driver, cuBLAS and NCCL; gives the library that stands for them."""
    os.environ["CUPY_ACCELERATORS"] = ""  # CUB's kernels come as code for GPUs
    library = ctypes.PyDLL(str(build.driver()), ctypes.RTLD_GLOBAL)
    ctypes.c_size_t.in_dll(library, "host_memory").value = memory
    library.host_refusal.restype = ctypes.c_void_p
    library.host_refusal.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
    library.host_take_trace.restype = ctypes.c_char_p
    _install_blas()
    ctypes.CDLL(str(build.nccl()), ctypes.RTLD_GLOBAL)
    import cupy_backends.cuda.api.runtime as runtime

    refused = 0
    for name, capsule in list(runtime.__pyx_capi__.items()):
        word = _api.PyCapsule_GetName(capsule)
        signature = ctypes.string_at(word).decode()
        parsed = re.fullmatch(r"(.*?)\s*\((.*)\)", signature)
        if parsed is None or name in _OWN:  # a constant, or what needs no device
            continue
        result, parameters = parsed[1], parsed[2].split(", ")
        found = getattr(library, f"host_{name}", None)
        if found is not None:
            address = ctypes.cast(found, ctypes.c_void_p).value
        elif result in _TYPES or result.endswith("*"):
            address = library.host_refusal(refused, name.encode(), int(result.endswith("*")))
            refused += 1
        else:
            continue  # a plain struct, made of its arguments
        _kept.append(capsule)
        runtime.__pyx_capi__[name] = _api.PyCapsule_New(address, word, None)
        if hasattr(runtime, name):
            setattr(runtime, name, _callable(name, address, result, parameters))  # type: ignore[arg-type]
    return library


def _callable(name: str, address: int, result: str, parameters: Sequence[str]) -> Any:
    """The function at an address as Python calls it; Cython's own arguments, which come last, are zero."""
    types = [_type(p) for p in parameters if p != "void"]
    own = sum("__pyx_" in p for p in parameters)
    function = ctypes.PYFUNCTYPE(_type(result), *types)(address)

    def call(*given: Any) -> Any:
        return function(*given, *[0] * (len(types) - len(given))) if own else function(*given)

    call.__name__ = name
    return call


def _type(declared: str) -> Any:
    word = re.sub(r" ?__pyx_skip_dispatch$", "", declared)
    if word.startswith("struct") and "__pyx_obj_" in word:
        return ctypes.py_object
    return _TYPES.get(word, ctypes.c_void_p)


def _install_blas() -> None:
    """Load cuBLAS's stand-in, and let it be found by those who look for cuBLAS."""
    from cuda import pathfinder

    path = str(build.blas())
    stand_in = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
    load = pathfinder.load_nvidia_dynamic_lib

    def loaded(name: str) -> Any:
        if name == "cublas":
            return SimpleNamespace(_handle_uint=stand_in._handle, abs_path=path, found_via="cuda_on_host")
        return load(name)

    pathfinder.load_nvidia_dynamic_lib = loaded


def counts(library: Any, length: int) -> Sequence[int]:
    """The driver's counts, in the order that `device.h` gives them."""
    return list((ctypes.c_long * length).in_dll(library, "host_counts"))


@contextlib.contextmanager
def traced(library: Any) -> Iterator[list[str]]:
    """The names of the kernels that are launched inside, there when it ends."""
    tracing = ctypes.c_int.in_dll(library, "host_tracing")
    names: list[str] = []
    library.host_take_trace()
    tracing.value = 1
    try:
        yield names
    finally:
        tracing.value = 0
        names.extend(library.host_take_trace().decode().split())
