"""Numbers with names: `torch.pi` and its kin."""

from math import e, inf, nan, pi

newaxis = None

__all__ = ["e", "inf", "nan", "newaxis", "pi"]
