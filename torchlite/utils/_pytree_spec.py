"""The form of a tree, which is left when its leaves are taken away."""

from __future__ import annotations

import dataclasses
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from ..core.values import warn
from ._pytree_nodes import STANDARD_DICT_TYPES, SUPPORTED_NODES, Context, PyTree, _node_type


@dataclasses.dataclass(init=False, frozen=True, repr=False)
class TreeSpec:
    """The form of a tree: the class of its root, what that says beside its items, and their forms."""

    __slots__ = ("_children", "_context", "num_leaves", "type")

    type: Any
    _context: Context
    _children: list[TreeSpec]
    num_leaves: int

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        put = object.__setattr__
        put(self, "type", type)
        put(self, "_context", context)
        put(self, "_children", children_specs)
        put(self, "num_leaves", 1 if type is None else sum([c.num_leaves for c in children_specs]))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.is_leaf():
            return treespec_leaf, ()
        return TreeSpec, (self.type, self._context, self._children)

    @property
    def num_children(self) -> int:
        return len(self._children)

    @property
    def num_nodes(self) -> int:
        return 1 + sum([c.num_nodes for c in self._children])

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = [c.__repr__(indent + 2) for c in self._children]
        joined = (",\n" + " " * (indent + 2)).join(inner)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{joined}])"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and self.num_leaves == other.num_leaves
            and self._context == other._context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        context = self._context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        elif isinstance(context, list):
            context = tuple(context)
        known = context if isinstance(context, Hashable) else None
        return hash((self.type, known, tuple(self._children)))

    @property
    def context(self) -> Context:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        warn(
            "`treespec.children_specs` is deprecated. Use `treespec.child(index)` to access a single child, or "
            "`treespec.children()` to get all children.",
            FutureWarning,
        )
        return self._children

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of `tree`, which has this form at least, that stand where this form has leaves."""
        found: list[PyTree] = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree: PyTree, found: list[PyTree]) -> None:
        if self.type is None:
            found.append(tree)
            return
        kind = _node_type(tree)
        both = (self.type, kind)
        if kind is not self.type and not STANDARD_DICT_TYPES.issuperset(both):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        items, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(items) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(items)}.")
        if kind in STANDARD_DICT_TYPES:
            items = [tree[key] for key in self._checked_keys(tree)]
        elif context != self._context and kind is not deque:
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got {context!r}."
            )
        for child, item in zip(self._children, items, strict=True):
            child._flatten_up_to(item, found)

    def _checked_keys(self, mapping: Any) -> list[Any]:
        """The keys of this form, which those of a mapping must be."""
        keys = self.keys()
        missing, extra = set(keys) - mapping.keys(), mapping.keys() - set(keys)
        if missing or extra:
            message = f"; missing key(s): {missing}" if missing else ""
            message += f"; extra key(s): {extra}" if extra else ""
            raise ValueError(f"Node keys mismatch{message}.")
        return keys

    def keys(self) -> list[Any]:
        """The keys of a mapping of this form."""
        return self._context[1] if self.type is defaultdict else self._context

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of this form with these leaves."""
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return leaves[0] if self.type is None else self._unflatten(iter(leaves))

    def _unflatten(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._unflatten(leaves) for c in self._children], self._context)


class _LeafSpecMeta(type(TreeSpec)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_LeafSpecMeta):
    """The form of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


PyTreeSpec = TreeSpec
_LEAF = LeafSpec()


def treespec_leaf() -> TreeSpec:
    return _LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The form of a tuple whose items have these forms."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The form of a dict whose values have these forms."""
    made = dict(mapping, **kwargs)
    return TreeSpec(dict, list(made), list(made.values()))


def _check_spec(treespec: Any) -> None:
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
