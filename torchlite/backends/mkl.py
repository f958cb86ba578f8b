"""`torch.backends.mkl`: whether NumPy's linear algebra is Intel's."""

from __future__ import annotations

import numpy as np

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Whether NumPy was built with MKL."""
    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})  # type: ignore[union-attr]
    return "mkl" in str(blas.get("name", "")).lower()


class verbose:
    """Would have the library tell what it does, for the time of a `with`; here it stays silent."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *_: object) -> bool:
        return False
