"""CuPy's compiler: CUDA C++ becomes C++ for g++, and a module a shared library of host functions."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from . import build

_HEADERS = re.compile(r"#include <cupy/(complex|carray|atomics|float16|bfloat16)\.cuh>")  # in the prelude
_DYNAMIC = re.compile(r"extern\s+__shared__\s+([\w:<> ]+?)\s+(\w+)\s*\[\s*\]")
_KERNEL = r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\("
_MEETING = re.compile(r"__syncthreads|__syncwarp|__shfl_|_sync\(")


class Source(NamedTuple):
    """CUDA C++ as CuPy's compiler is given it."""

    text: str
    options: tuple[str, ...]
    names: tuple[str, ...]  # of instances of templates


compiled: dict[Source, None] = {}  # what g++ took in this process, in order


def install() -> None:
    from cupy.cuda import compiler

    compiler._compile_module_with_cache = _compile_module


def _compile_module(
    source: str, options: Any = (), *, name_expressions: Any = None, enable_cooperative_groups: bool = False, **_: Any
) -> Any:
    """What takes the place of `cupy.cuda.compiler._compile_module_with_cache`."""
    from cupy.cuda import compiler, function

    if enable_cooperative_groups:
        raise NotImplementedError("CUDA on the host: there are no cooperative groups")
    names = {expression: f"named_{i}" for i, expression in enumerate(name_expressions or ())}
    try:
        path = build.kernel(translated(source, names), [o for o in options if o.startswith("-D")])
    except build.BuildError as error:
        raise compiler.CompileException(str(error), source, "kernel.cu", tuple(options), "g++") from None
    compiled[Source(source, tuple(options), tuple(name_expressions or ()))] = None
    module = function.Module()
    if names:
        module._set_mapping(names)
    module.load(str(path).encode() + b"\0")
    return module


def translated(source: str, names: dict[str, str]) -> str:
    """C++ with a description of each kernel; `names` are those of instances of templates."""
    text = _DYNAMIC.sub(r"\1* \2 = (\1*)host_dynamic_shared", _HEADERS.sub("", source))
    threads = _threads(text)
    exported = re.findall(r'extern\s+"C"\s+' + _KERNEL, text)
    if re.search(r'extern\s+"C"\s*\{', text):
        exported += [name for name in re.findall(_KERNEL, text) if name not in exported]
    kernels = {name: name for name in exported} | {name: expression for expression, name in names.items()}
    described = [f"HOST_KERNEL({name}, ({function}), {threads})" for name, function in kernels.items()]
    return "\n".join(['#include "prelude.h"', text, *described, ""])


def _threads(text: str) -> str:
    """How the threads may run. One does all of a loop over the grid, unless the loop's body returns."""
    if _MEETING.search(text):
        return "TOGETHER"
    return "ONE_FOR_ALL" if "CUPY_FOR" in text and not re.search(r"\breturn\s*;", text) else "IN_TURN"
