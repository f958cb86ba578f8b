"""Nested containers of arguments and results, taken apart into leaves and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class Spec:
    """What a container is: its class, its keys if it is a mapping, and what its items are. A leaf has no class."""

    cls: type | None = None
    keys: tuple[Any, ...] | None = None
    items: tuple[Spec, ...] = ()
    factory: Any = None  # of a defaultdict


LEAF = Spec()


def _parts(value: Any) -> tuple[tuple[Any, ...] | None, Sequence[Any]] | None:
    """The keys and items of a container; None for a leaf."""
    cls = type(value)
    if cls in (dict, OrderedDict, defaultdict):
        keys = tuple(sorted(value) if cls is dict and _sortable(value) else value)
        return keys, [value[k] for k in keys]
    if cls in (tuple, list) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return None, value
    return None


def _sortable(keys: Any) -> bool:
    try:
        sorted(keys)
    except TypeError:
        return False
    return True


def flatten(value: Any) -> tuple[list[Any], Spec]:
    """The leaves of nested tuples, lists and dicts, and the structure they stood in."""
    parts = _parts(value)
    if parts is None:
        return [value], LEAF
    keys, items = parts
    leaves: list[Any] = []
    specs = []
    for item in items:
        below, spec = flatten(item)
        leaves += below
        specs.append(spec)
    return leaves, Spec(type(value), keys, tuple(specs), getattr(value, "default_factory", None))


def rebuild(spec: Spec, leaves: Sequence[Any]) -> Any:
    """The structure again, with these leaves."""
    return _rebuild(spec, iter(leaves))


def _rebuild(spec: Spec, leaves: Iterator[Any]) -> Any:
    cls = spec.cls
    if cls is None:
        return next(leaves)
    items = [_rebuild(s, leaves) for s in spec.items]
    if spec.keys is not None:
        pairs = zip(spec.keys, items, strict=True)
        return cls(spec.factory, pairs) if cls is defaultdict else cls(pairs)
    if hasattr(cls, "_fields"):
        return cls._make(items) if hasattr(cls, "_make") else cls(items)
    return cls(items)


def spread(value: Any, spec: Spec) -> list[Any] | None:
    """`value`, whose containers may end early, as one item for each leaf of the structure; None if it does not fit."""
    if spec.cls is None:
        return [value] if _parts(value) is None else None
    parts = _parts(value)
    if parts is None:
        return [value] * _count(spec)
    keys, items = parts
    if type(value) is not spec.cls or keys != spec.keys or len(items) != len(spec.items):
        return None
    found: list[Any] = []
    for item, below in zip(items, spec.items, strict=True):
        part = spread(item, below)
        if part is None:
            return None
        found += part
    return found


def _count(spec: Spec) -> int:
    return 1 if spec.cls is None else sum([_count(s) for s in spec.items])


def spec_text(spec: Spec, indent: int = 0) -> str:
    """A structure as errors show it."""
    if spec.cls is None:
        return "*"
    named = hasattr(spec.cls, "_fields")
    name = "namedtuple" if named else spec.cls.__name__
    context = spec.cls if named else None if spec.keys is None else list(spec.keys)
    inner = ",\n".join([" " * (indent + 2) * bool(i) + spec_text(s, indent + 2) for i, s in enumerate(spec.items)])
    return f"TreeSpec({name}, {context}, [{inner}])"
