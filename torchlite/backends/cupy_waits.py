"""Who is to be told that a value is waited for: nobody (0), or the user by a warning (1) or an error (2)."""

from __future__ import annotations

from ..core.values import warn

told = 0


def tell() -> None:
    if told == 2:
        raise RuntimeError("called a synchronizing CUDA operation")
    warn("called a synchronizing CUDA operation")
