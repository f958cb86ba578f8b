"""Lists and dictionaries that nodes hold as arguments: they are changed by assigning others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..utils._pytree import register_pytree_node

_WHY = (
    "object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
    "instead create a new copy of it and assign the copy to the node:\n\n"
    "    new_args = ...  # copy and mutate args\n    node.args = new_args\n"
)


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"'{type(self).__name__}' {_WHY}")


def _frozen(writers: str, parts: Callable[[Any], Any]) -> Callable[[type], type]:
    """Let a class refuse what writes to it, and be hashed by its parts."""

    def freeze(cls: Any) -> type:
        for writer in writers.split():
            setattr(cls, writer, _refuse)
        cls.__hash__ = lambda self: hash(parts(self))
        cls.__reduce__ = lambda self: (cls, (cls.__base__(self),))
        return cls

    return freeze


@_frozen("__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort", tuple)
class immutable_list(list[Any]):
    """A list that cannot be changed."""


@_frozen("__delitem__ __ior__ __setitem__ clear pop popitem setdefault update", lambda d: frozenset(d.items()))
class immutable_dict(dict[Any, Any]):
    """A dictionary that cannot be changed."""


register_pytree_node(immutable_list, lambda values: (list(values), None), lambda values, _: immutable_list(values))
register_pytree_node(
    immutable_dict,
    lambda d: (list(d.values()), list(d)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
)
