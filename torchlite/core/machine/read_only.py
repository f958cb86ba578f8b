"""What a tensor may only be asked for: who sets or deletes it is told so in PyTorch's words."""

from __future__ import annotations

from typing import NoReturn, TypeVar

C = TypeVar("C", bound=type)


def read_only(cls: C) -> C:
    """Let the properties of a class that have no setter say that they are not written to."""
    for name, value in list(vars(cls).items()):
        if isinstance(value, property) and value.fset is None:
            setattr(cls, name, property(value.fget, Refusal(name), Refusal(name), value.__doc__))
    return cls


class Refusal:
    """What sets or deletes an attribute that is only asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, t: object, value: object = None) -> NoReturn:
        raise AttributeError(f"attribute '{self.name}' of 'torch._C.TensorBase' objects is not writable")
