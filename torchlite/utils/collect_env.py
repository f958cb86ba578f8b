"""What somebody who looks into a problem wants to know: ``python -m torchlite.utils.collect_env``."""

from __future__ import annotations

import importlib.metadata
import locale
import os
import platform
import sys
from collections.abc import Iterator

_PACKAGES = ("numpy", "ml_dtypes", "typing_extensions", "cupy", "cupy-cuda12x", "cupy-cuda13x", "threadpoolctl",
             "tensorboard", "torch")  # fmt: skip


def _versions() -> Iterator[str]:
    for name in _PACKAGES:
        try:
            yield f"[pip3] {name}=={importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            pass


def _blas() -> str:
    import numpy as np

    found = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def get_env_info() -> dict[str, str]:
    """The facts, by what they are called."""
    import torchlite

    from .. import cuda, settings
    from ..cpu import _get_cpu_capability, get_capabilities

    devices = ", ".join(cuda.get_device_name(i) for i in range(cuda.device_count()))
    return {
        "torchlite version": torchlite.__version__,
        "OS": platform.platform(),
        "Libc version": "-".join(platform.libc_ver()),
        "Python version": f"{sys.version.split()[0]} ({platform.architecture()[0]} runtime)",
        "Python platform": f"{platform.machine()} {locale.getpreferredencoding()}",
        "Is CUDA available": str(cuda.is_available()),
        "GPU models and configuration": devices or "none",
        "CPU": f"{get_capabilities().get('cpu_name', platform.processor())} ({os.cpu_count()} cores)",
        "CPU capability": _get_cpu_capability(),
        "BLAS": _blas(),
        "Threads": str(settings.get_num_threads()),
    }


def get_pretty_env_info() -> str:
    """The facts and the versions of packages, as text."""
    lines = [f"{name}: {value}" for name, value in get_env_info().items()]
    return "\n".join([*lines, "", "Versions of relevant libraries:", *_versions()])


def main() -> None:
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
