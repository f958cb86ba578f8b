"""What passes are written with."""

from . import matcher_utils

__all__ = ["matcher_utils"]
