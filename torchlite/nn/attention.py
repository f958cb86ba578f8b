"""`torch.nn.attention`: which kernels may compute scaled dot-product attention.

There is one kernel here, which takes everything, so that the choice is accepted and makes no difference.
"""

from __future__ import annotations

import contextlib
import enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.Enum):
    """PyTorch's kernels for attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


SDPBackend.__module__ = "torch.nn.attention"


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Choose one or several kernels, for the time of a `with`."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    yield {}


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.nn.attention.{name} yet (docs/coverage.md lists what there is)")
