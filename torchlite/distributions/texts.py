"""Texts of properties that classes have anew."""

from __future__ import annotations


def inherit_texts(cls: type) -> None:
    """Give the properties of a class that have no text those of the properties in whose place they stand."""
    for name, value in vars(cls).items():
        if isinstance(value, property) and value.__doc__ is None:
            before = (vars(base).get(name) for base in cls.__mro__[1:])
            value.__doc__ = next((p.__doc__ for p in before if isinstance(p, property)), None)
