"""`torch.return_types`: the named tuples that ops with several results give."""

from __future__ import annotations

from typing import Any

from .absent import explanation
from .core.values import made, return_type


def __getattr__(name: str) -> Any:
    if name in made:
        return made[name]
    if name.removesuffix("_out") in made:
        return return_type(name, made[name.removesuffix("_out")]._fields)
    if name == "all_return_types":
        return [made[each] for each in sorted(made)]
    raise AttributeError(explanation(f"torch.return_types.{name}"), name=name)


def __dir__() -> list[str]:
    return sorted(made)
