"""Whether products of float32 matrices may be taken in TensorFloat-32, which only GPUs have."""

from __future__ import annotations

from collections.abc import Callable

_allowed = False
_followers: list[Callable[[bool], None]] = []


def allow_tf32(allowed: bool) -> None:
    """Set it, and tell those whose libraries have to be told."""
    global _allowed
    _allowed = allowed
    for follow in _followers:
        follow(allowed)


def follow_tf32(follow: Callable[[bool], None]) -> None:
    """Call `follow` now, and whenever it changes."""
    _followers.append(follow)
    follow(_allowed)
