"""Lists and dictionaries that nodes hold as arguments: they are changed by assigning others."""

from __future__ import annotations

from typing import Any, NoReturn

from ..utils._pytree import register_pytree_node

_WHY = (
    "object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
    "instead create a new copy of it and assign the copy to the node:\n\n"
    "    new_args = ...  # copy and mutate args\n    node.args = new_args\n"
)


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"'{type(self).__name__}' {_WHY}")


def _frozen(name: str, base: type, writers: str, parts: Any) -> Any:
    more: dict[str, Any] = {writer: _refuse for writer in writers.split()}
    more |= {"__hash__": lambda self: hash(parts(self)), "__reduce__": lambda self: (type(self), (base(self),))}
    return type(name, (base,), more | {"__module__": __name__})


immutable_list = _frozen(
    "immutable_list", list,
    "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort", tuple,
)  # fmt: skip
immutable_dict = _frozen(
    "immutable_dict", dict, "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update",
    lambda d: frozenset(d.items()),
)  # fmt: skip

register_pytree_node(immutable_list, lambda values: (list(values), None), lambda values, _: immutable_list(values))
register_pytree_node(
    immutable_dict,
    lambda d: (list(d.values()), list(d)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
)
