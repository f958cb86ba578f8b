"""What a tensor may only be asked for: who sets or deletes it is told so in PyTorch's words."""

from __future__ import annotations

from typing import Any, NoReturn

from ...core.machine import Tensor


def _always(answer: bool) -> property:
    def get(self: Tensor) -> bool:
        return answer

    return property(get)


def _refusal(name: str) -> Any:
    def refuse(self: Tensor, value: object = None) -> NoReturn:
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    return refuse


for _name, _value in list(vars(Tensor).items()):
    if isinstance(_value, bool) and _name.startswith(("is_", "_has_")):  # of a kind that only subclasses are of
        _value = _always(_value)
    if isinstance(_value, property) and _value.fset is None:
        setattr(Tensor, _name, property(_value.fget, _refusal(_name), _refusal(_name), _value.__doc__))
