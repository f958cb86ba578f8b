"""What `python -m torchlite --info` prints: versions, backends, BLAS, threads and devices."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata

import numpy as np

from .. import __version__, cuda
from ..backends.base import backend_names, find_installed, get_backend
from ..core.native import build

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def describe() -> str:
    facts = dict(_facts())
    width = max(map(len, facts)) + 2
    return "\n".join(f"{name + ':':{width}}{value}" for name, value in facts.items())


def _facts() -> Iterator[tuple[str, str]]:
    yield "torchlite", f"{_version('torchlite-numpy')} (as torch: {__version__})"
    yield "build", build
    yield "Python", f"{sys.version.split()[0]} ({sys.executable})"
    yield "platform", platform.platform()
    for package in ("numpy", "ml_dtypes", "typing_extensions", "cupy", "torch"):
        yield package, _version(package)
    find_installed()
    for name in backend_names():
        yield f"backend {name}", _state(name)
    for index in range(cuda.device_count()):
        yield f"device cuda:{index}", cuda.get_device_name(index)
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    yield "BLAS", f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
    yield "processors", str(os.cpu_count())
    for variable in (*_THREADS, "TORCHLITE_ALIAS", "TORCHLITE_NATIVE"):
        yield variable, os.environ.get(variable, "not set")


def _version(package: str) -> str:
    if package == "cupy":
        found = [f"{name} {metadata.version(name)}" for name in metadata.packages_distributions().get("cupy", ())]
        return ", ".join(found) or "not installed"
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _state(name: str) -> str:
    try:
        get_backend(name)
    except (RuntimeError, AssertionError, ImportError, NotImplementedError) as error:
        return "; ".join([str(error).partition("\n")[0], *getattr(error, "__notes__", ())])
    return "available"
