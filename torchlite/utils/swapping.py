"""Two tensors that change places."""

from __future__ import annotations

import weakref

from ..core.machine import Tensor
from ..core.machine.subclasses import PARTS


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let all who hold `t1` find what was `t2`, and the other way round: values, class, history, and attributes."""
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if _slots(type(t1)) != _slots(type(t2)):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for part in PARTS:
        kept = part.__get__(t1)
        part.__set__(t1, part.__get__(t2))
        part.__set__(t2, kept)


def _slots(cls: type) -> set[str]:
    return {slot for c in cls.__mro__ for slot in c.__dict__.get("__slots__", ())}
