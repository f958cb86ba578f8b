"""What helps to test: the device `strict`, and the conformance suite for backends."""

from __future__ import annotations


def enable_strict() -> None:
    """Register the device `strict`, which is as narrow as a GPU's and needs none. See `torchlite.testing.strict`."""
    from . import strict


__all__ = ["enable_strict"]
