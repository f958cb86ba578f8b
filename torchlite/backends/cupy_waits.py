"""Who is to be told that a value is waited for: nobody (0), or the user by a warning (1) or an error (2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.values import warn

told = 0
# Ops whose results are as large as values say, for which CuPy waits; the last is, where an index is a mask.
_SIZED_BY_VALUES = frozenset((
    "nonzero", "argwhere", "nonzero_static", "masked_select", "masked_scatter", "_unique2", "unique_dim",
    "unique_consecutive", "bincount", "repeat_interleave.Tensor", "index.Tensor",
))  # fmt: skip


def tell() -> None:
    if told == 2:
        raise RuntimeError("called a synchronizing CUDA operation")
    warn("called a synchronizing CUDA operation")


def telling(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an op, which tells first where CuPy waits in it."""
    if name not in _SIZED_BY_VALUES:
        return kernel

    def call(*arguments: Any) -> Any:
        if told and (name != "index.Tensor" or any([i is not None and i.dtype.kind == "b" for i in arguments[1]])):
            tell()
        return kernel(*arguments)

    return call
