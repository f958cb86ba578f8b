"""Hooks: functions that users ask to be called when a gradient passes by, and handles to take them away again."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..values import reduce_ex, shown_in


class Hooks:
    """The hooks of a node, or of a leaf's AccumulateGrad. Most have none."""

    __slots__ = ("post", "pre", "retain", "tensor_pre")

    def __init__(self) -> None:
        self.tensor_pre: dict[int, OrderedDict[int, Callable[..., Any]]] = {}  # by output number
        self.pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.post: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.retain: dict[int, Any] = {}  # output number -> weak reference to the tensor whose .grad is kept

    def of_output(self, nr: int) -> OrderedDict[int, Callable[..., Any]]:
        return self.tensor_pre.setdefault(nr, OrderedDict())


@shown_in("torch.utils.hooks")
class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again.

    It knows the hooks weakly. `extra_dict` is a further dictionary (or several) with entries of the same number.
    """

    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref: Any = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extras: Iterable[Any] = extra_dict or ()
        if hasattr(extra_dict, "keys"):
            extras = (extra_dict,)
        self.extra_dict_ref: tuple[Any, ...] = tuple([weakref.ref(d) for d in extras])

    def remove(self) -> None:
        """Take the hook away."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        state = (self.hooks_dict_ref(), self.id)
        return (*state, tuple([ref() for ref in self.extra_dict_ref])) if self.extra_dict_ref else state

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks = state[0]
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        self.extra_dict_ref = tuple([weakref.ref(OrderedDict() if d is None else d) for d in (state[2:] or ((),))[0]])

    __reduce_ex__ = reduce_ex

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def register(
    hooks: OrderedDict[int, Any], hook: Any, first: bool = False, flags: Sequence[tuple[dict[int, bool], bool]] = ()
) -> RemovableHandle:
    """Add a hook, as the first one if asked, and what the `flags` say of it; its handle."""
    handle = RemovableHandle(hooks, extra_dict=[flag for flag, _ in flags])
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    for flag, value in flags:
        if value:
            flag[handle.id] = True
    return handle
