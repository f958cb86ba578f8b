"""What g++ makes: the stand-ins for the driver, cuBLAS and NCCL, and a library of each kernel; all kept on disk."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_BLAS = re.compile(rb"cublas[A-Z]\w+")
_WHEELS = ("cupy-cuda12x", "cupy-cuda13x")


class BuildError(Exception):
    """What g++ said of a source it did not take."""


@functools.cache
def wheel() -> tuple[str, str] | None:
    """The major version of CUDA for which CuPy is installed, and CuPy's own version."""
    for name in _WHEELS:
        try:
            return name[9:11], importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return None


@functools.cache
def cuda_headers() -> Path | None:
    """A folder with CUDA's headers: the runtime's package, or a toolkit."""
    packages = [Path(p) for p in sys.path if p.endswith("site-packages")]
    folders = [p / "nvidia" / name / "include" for p in packages for name in ("cuda_runtime", "cu13", "cu12")]
    toolkits = [os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    folders += [Path(t) / "include" for t in toolkits if t]
    return next((folder for folder in folders if (folder / "cuda_bf16.h").is_file()), None)


def missing() -> str | None:
    """What there is none of here; None if all is there."""
    if sys.platform != "linux":
        return "Linux"
    if wheel() is None:
        return f"CuPy ({' or '.join(_WHEELS)})"
    if shutil.which("g++") is None:
        return "g++"
    if cuda_headers() is None:
        return "CUDA's headers (nvidia-cuda-runtime, for CUDA 12 nvidia-cuda-runtime-cu12, or a toolkit)"
    return None


def _cupy_folder() -> Path:
    spec = importlib.util.find_spec("cupy")  # found, not imported
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


@functools.cache
def cache() -> Path:
    """The folder of what was built for this CuPy: in `TORCHLITE_CUDA_ON_HOST_CACHE`, or in the user's cache."""
    headers = cuda_headers()
    assert headers is not None
    seen = [p for p in sorted(HERE.rglob("*")) if p.is_file() and p.suffix in (".h", "")]
    seen += sorted(headers.glob("cuda_[fb]*16.h*"))  # by what they say, since environments come and go
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path(os.environ.get("TORCHLITE_CUDA_ON_HOST_CACHE") or Path(user, "torchlite", "cuda_on_host"))
    folder = root / _digest(wheel(), _KERNEL_FLAGS, *[p.read_bytes() for p in seen])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


_FLAGS = ("-std=gnu++17", "-fPIC", "-w")
# Arithmetic as it stands: no contraction of products and sums, no assumption about what types lie at an address. Of
# the functions in CuPy's headers, those that a kernel calls are made, and no others.
_KERNEL_FLAGS = (*_FLAGS, "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-fwhole-program")


def _includes() -> list[str]:
    return [f"-I{folder}" for folder in (HERE, HERE / "headers", _cupy_folder() / "_core" / "include", cuda_headers())]


def _compile(target: Path, arguments: Sequence[str], source: str | None = None) -> Path:
    """Let g++ make `target`, which appears when it is whole: several processes may want it at once."""
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            made = Path(folder) / target.name
            run = subprocess.run(["g++", *arguments, "-o", str(made)], input=source, capture_output=True, text=True)
            if run.returncode:
                errors = [line for line in run.stderr.splitlines() if "error" in line]
                raise BuildError("\n".join(errors[:8]) or run.stderr)
            os.replace(made, target)
    return target


def _written(target: Path, text: str) -> Path:
    """A file with a text, which other processes never see half of."""
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            made = Path(folder) / target.name
            made.write_text(text)
            os.replace(made, target)
    return target


def _library(soname: str, sources: Sequence[Path], arguments: Sequence[str]) -> Path:
    """A library that is found by its name for the linker, once it is loaded."""
    target = cache() / f"{soname}-{_digest(*[p.read_bytes() for p in sources])}"
    given = [*_FLAGS, "-O3", "-shared", f"-Wl,-soname,{soname}", *arguments, *map(str, sources), "-ldl"]
    return _compile(target, given)


def driver() -> Path:
    """The stand-in for the driver and the runtime."""
    python = sysconfig.get_paths()["include"]
    sources = [HERE / "driver.cpp", HERE / "runtime.cpp"]
    return _library("libcuda.so.1", sources, [f"-I{HERE}", f"-I{python}"])


def blas() -> Path:
    """The stand-in for cuBLAS. What it does not compute is made to say so: calls give CUBLAS_STATUS_NOT_SUPPORTED."""
    major = wheel()[0]  # type: ignore[index]
    (bound,) = (_cupy_folder().parent / "cupy_backends" / "cuda" / "libs").glob("cublas.*.so")
    names = {name.decode() for name in _BLAS.findall(bound.read_bytes())}
    refusals = [f'extern "C" __attribute__((weak)) int {name}() {{ return 15; }}\n' for name in sorted(names)]
    refusing = _written(cache() / "blas_refusals.cpp", "".join(refusals))
    return _library(f"libcublas.so.{major}", [HERE / "blas.cpp", refusing], _includes())


def nccl() -> Path:
    """The stand-in for NCCL."""
    return _library("libnccl.so.2", [HERE / "nccl.cpp"], _includes())


@functools.cache
def _prelude() -> Path:
    """The folder where what all kernels begin with lies, compiled."""
    folder = cache() / "prelude"
    folder.mkdir(exist_ok=True)
    _written(folder / "prelude.h", (HERE / "prelude.h").read_text())
    _compile(folder / "prelude.h.gch", [*_KERNEL_FLAGS, *_includes(), "-x", "c++-header", str(HERE / "prelude.h")])
    return folder


def kernel(source: str, defines: Sequence[str]) -> Path:
    """A shared library of C++ that begins with `prelude.h`."""
    target = cache() / f"{_digest(source, sorted(defines))}.so"
    if not target.exists():
        _compile(
            target, [*_KERNEL_FLAGS, f"-I{_prelude()}", *_includes(), *defines, "-shared", "-x", "c++", "-"], source
        )
    return target
