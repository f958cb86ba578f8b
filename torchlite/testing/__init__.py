"""What helps to test: comparing and making tensors, the device `strict`, and the conformance suite for backends."""

from __future__ import annotations

from . import _utils
from ._comparison import assert_allclose, assert_close
from ._file_check import FileCheck
from .creation import make_tensor


def enable_strict() -> None:
    """Register the device `strict`, which is as narrow as a GPU's and needs none. See `torchlite.testing.strict`."""
    from . import strict


__all__ = ["FileCheck", "assert_allclose", "assert_close", "enable_strict", "make_tensor"]
