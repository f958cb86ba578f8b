"""`torch.utils._pytree`: nested containers ("trees") taken apart into leaves, mapped, and put together again.

A container is what `SUPPORTED_NODES` has an entry for; `register_pytree_node` adds one. All else is a leaf. The form of
a tree without its leaves is a `TreeSpec`.
"""

from __future__ import annotations

import dataclasses
import types
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Any

from ..core.values.errors import warn
from ._pytree_nodes import (  # noqa: F401, handed on
    BUILTIN_TYPES,
    CONSTANT_NODES,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    ConstantNode,
    Context,
    DumpableContext,
    FlattenFn,
    FlattenFunc,
    FlattenWithKeysFn,
    FlattenWithKeysFunc,
    FromDumpableContextFn,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    MappingKey,
    NodeDef,
    PyTree,
    SequenceKey,
    ToDumpableContextFn,
    UnflattenFn,
    UnflattenFunc,
    _deregister_pytree_node,
    _dict_flatten_with_keys,
    _get_node_type,
    _node_type,
    _register_namedtuple,
    _register_pytree_node,
    _SerializeNodeDef,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    key_get,
    keystr,
    register_constant,
    register_dataclass,
    register_pytree_node,
)

__all__ = [
    "PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn", "FromDumpableContextFn",
    "PyTreeSpec", "TreeSpec", "LeafSpec", "keystr", "key_get", "register_pytree_node", "tree_is_leaf", "tree_flatten",
    "tree_flatten_with_path", "tree_unflatten", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure",
    "tree_map", "tree_map_with_path", "tree_map_", "tree_map_only", "tree_map_only_", "tree_all", "tree_any",
    "tree_all_only", "tree_any_only", "treespec_dumps", "treespec_loads", "treespec_pprint", "is_namedtuple",
    "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance",
]  # fmt: skip

IsLeaf = Callable[[PyTree], bool] | None


# ---- the form of a tree


@dataclasses.dataclass(init=False, frozen=True, repr=False)
class TreeSpec:
    """The form of a tree: the class of its root, what that says beside its items, and their forms."""

    __slots__ = ("_children", "_context", "num_leaves", "type")

    type: Any
    _context: Context
    _children: list[TreeSpec]

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
        return self._unflatten(iter(leaves))

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


class _Asterisk:
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A form as the tree that has it, with stars for leaves."""
    return repr(tree_unflatten([_Asterisk()] * treespec.num_leaves, treespec))


def _check_spec(treespec: Any) -> None:
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")


# ---- taking apart and putting together


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) not in SUPPORTED_NODES


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree and its form. What `is_leaf` says yes to is a leaf, whatever it is."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    kind = _node_type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    items, context = node.flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(item, leaves, is_leaf) for item in items])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of a form with these leaves."""
    _check_spec(treespec)
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one after the other."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for item in SUPPORTED_NODES[_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(item, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_iter(value)]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of a tree, each with the path to it, and the tree's form."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    return list(_with_paths((), tree, is_leaf))


def _with_paths(path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _node_type(tree)
    flatten_with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if flatten_with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, item in flatten_with_keys(tree)[0]:
        yield from _with_paths((*path, key), item, is_leaf)


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """One item of `tree`, whose branches may end early, for each leaf of the form; None where it does not fit."""
    _check_spec(treespec)
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _node_type(tree)
    if treespec.is_leaf():
        return None
    if kind is not treespec.type and not STANDARD_DICT_TYPES.issuperset((kind, treespec.type)):
        return None
    if kind in STANDARD_DICT_TYPES:
        if tree.keys() != set(treespec.keys()):
            return None
        items = list(tree.values())
    else:
        items, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(items) != treespec.num_children or (kind is not deque and context != treespec.context):
            return None
    found: list[Any] = []
    for item, child in zip(items, treespec._children, strict=True):
        part = _broadcast_to_and_flatten(item, child, is_leaf)
        if part is None:
            return None
        found += part
    return found


# ---- mapping


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """A tree of the same form with `func` of every leaf (and of what stands in its place in the other trees)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests])))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call `func` with every leaf; the tree itself comes back."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]), maxlen=0)
    return tree


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map`, with the path to the leaf as first argument."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [p for p, _ in pairs], [v for _, v in pairs]
    return spec.unflatten(list(map(func, paths, leaves, *[spec.flatten_up_to(rest) for rest in rests])))


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function applies to values of these types (or that satisfy a predicate); others stay."""
    applies: Callable[[Any], bool]
    if isinstance(type_or_types_or_pred, (type, tuple, types.UnionType)):
        applies = partial(_is_one_of, type_or_types_or_pred)
    elif callable(type_or_types_or_pred):
        applies = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def decorated(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: func(x) if applies(x) else x

    return decorated


def _is_one_of(kinds: Any, value: Any) -> bool:
    return isinstance(value, kinds)


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


# ---- in a file

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A form as JSON."""
    import json

    _check_spec(treespec)
    if protocol is None:
        protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise _unknown_protocol(protocol)
    return json.dumps((protocol, _written(treespec)), default=_enum_written)


def treespec_loads(serialized: str) -> TreeSpec:
    """The form that `treespec_dumps` wrote."""
    import json

    protocol, written = json.loads(serialized, object_hook=_enum_read)
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise _unknown_protocol(protocol)
    return _read(written)


def _unknown_protocol(protocol: Any) -> ValueError:
    return ValueError(f"Unknown protocol {protocol}. Available protocols: {[DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL]}")


def _written(spec: TreeSpec) -> dict[str, Any]:
    import json

    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    if spec.type not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    named = SUPPORTED_SERIALIZED_TYPES[spec.type]
    if named.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    if named.to_dumpable_context is not None:
        context = named.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, default=_enum_written)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
                "using _register_pytree_node."
            ) from error
    children = [_written(child) for child in spec.children()]
    return {"type": named.serialized_type_name, "context": context, "children_spec": children}


def _read(written: dict[str, Any]) -> TreeSpec:
    import json

    name = written["type"]
    if name is None and written["context"] is None and not written["children_spec"]:
        return _LEAF
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    read = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable_context
    if read is not None:
        context = read(written["context"])
    else:
        context = json.loads(written["context"], object_hook=_enum_read)
    return TreeSpec(kind, context, [_read(child) for child in written["children_spec"]])


def _enum_written(value: Any) -> Any:
    """Members of an Enum, which JSON does not know."""
    from enum import Enum

    if isinstance(value, Enum):
        return {"__enum__": True, "fqn": f"{type(value).__module__}:{type(value).__qualname__}", "name": value.name}
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _enum_read(value: dict[str, Any]) -> Any:
    if "__enum__" not in value:
        return value
    import importlib

    module, _, qualname = value["fqn"].partition(":")
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found[value["name"]]
