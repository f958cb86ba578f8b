"""What a tensor may only be asked for: who sets or deletes it is told so in PyTorch's words."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

C = TypeVar("C", bound=type)


def read_only(cls: C) -> C:
    """Let the properties of a class that have no setter say that they are not written to."""
    for name, value in list(vars(cls).items()):
        if isinstance(value, property) and value.fset is None:
            setattr(cls, name, property(value.fget, _refusal(name), _refusal(name), value.__doc__))
    return cls


def _refusal(name: str) -> Any:
    def refuse(self: object, value: object = None) -> NoReturn:
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    return refuse
