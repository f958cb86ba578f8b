"""Classes of which a few objects stand for facts: nobody writes to those, makes others, or derives from the class."""

from __future__ import annotations

from typing import Any, NoReturn


def sealed(cls: type, more: bool = False) -> None:
    """Close a class that bears PyTorch's name, once its objects are made; with `more`, others may still be.

    What makes those writes by way of `object.__setattr__`.
    """
    shown = f"{cls.__module__}.{cls.__name__}"

    def refuse_to_write(self: Any, name: str, value: object = None) -> NoReturn:
        if hasattr(cls, name):
            raise AttributeError(f"attribute '{name}' of '{shown}' objects is not writable")
        raise AttributeError(f"'{shown}' object has no attribute '{name}'")

    def refuse_to_make(*_: Any, **__: Any) -> NoReturn:
        raise TypeError(f"cannot create '{shown}' instances")

    def refuse_to_be_derived_from(_: type, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type '{shown}' is not an acceptable base type")

    cls.__setattr__ = cls.__delattr__ = refuse_to_write  # type: ignore[method-assign,assignment]
    cls.__init_subclass__ = classmethod(refuse_to_be_derived_from)  # type: ignore[assignment]
    if not more:
        cls.__new__ = refuse_to_make  # type: ignore[method-assign]
