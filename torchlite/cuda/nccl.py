"""`torch.cuda.nccl`: which NCCL there is. Processes with a GPU each talk by it through `torch.distributed`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..absent import lacking

__all__ = ["is_available", "version"]


def version() -> tuple[int, int, int]:
    """The version of the library."""
    from cupy.cuda import nccl

    number = nccl.get_version()
    unit = 10_000 if number > 9_999 else 1_000
    return number // unit, number % unit // 100, number % 100


def is_available(tensors: Iterable[Any]) -> bool:
    """Whether tensors lie densely on GPUs, one on each."""
    given = list(tensors)
    fit = all(tensor.is_cuda and tensor.is_contiguous() for tensor in given)
    return fit and len({tensor.device for tensor in given}) == len(given)


__getattr__ = lacking(__name__)
