"""`torch.backends.cudnn`: switches of a library that is not used here, so that nothing heeds them."""

from __future__ import annotations

from typing import Any

from .flags import switches

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
depthwise_kernel = "auto"

set_flags, flags = switches(
    globals(), enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True,
    fp32_precision="none", depthwise_kernel="auto",
)  # fmt: skip


class _Operation:
    """The precision of one kind of operation."""

    fp32_precision = "none"


conv, rnn = _Operation(), _Operation()


def version() -> int | None:
    return None


def is_available() -> bool:
    return False


def is_acceptable(tensor: Any) -> bool:
    """Whether the library would compute with a tensor."""
    return False
