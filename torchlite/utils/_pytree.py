"""`torch.utils._pytree`: nested containers ("trees") taken apart into leaves, mapped, and put together again.

A container is what `SUPPORTED_NODES` has an entry for; `register_pytree_node` adds one. All else is a leaf. The form of
a tree without its leaves is a `TreeSpec`.
"""

# ruff: noqa: F405

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import _pytree_nodes
from ._pytree_nodes import *  # noqa: F403, handed on
from ._pytree_nodes import (  # noqa: F401
    _deregister_pytree_node,
    _get_node_type,
    _node_type,
    _register_namedtuple,
    _register_pytree_node,
    _SerializeNodeDef,
)
from ._pytree_spec import (  # noqa: F401, handed on
    _LEAF,
    LeafSpec,
    PyTreeSpec,
    TreeSpec,
    _check_spec,
    treespec_dict,
    treespec_leaf,
    treespec_tuple,
)

__all__ = [
    "PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn", "FromDumpableContextFn",
    "PyTreeSpec", "TreeSpec", "LeafSpec", "keystr", "key_get", "register_pytree_node", "tree_is_leaf", "tree_flatten",
    "tree_flatten_with_path", "tree_unflatten", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure",
    "tree_map", "tree_map_with_path", "tree_map_", "tree_map_only", "tree_map_only_", "tree_all", "tree_any",
    "tree_all_only", "tree_any_only", "treespec_dumps", "treespec_loads", "treespec_pprint", "is_namedtuple",
    "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance",
]  # fmt: skip

# The registry's own ways of taking containers apart, by the names that packages call them.
_OF_NODES = ("_flatten", "_unflatten", "_with_keys")
globals().update({name: value for name, value in vars(_pytree_nodes).items() if name.endswith(_OF_NODES)})

IsLeaf = Callable[[PyTree], bool] | None


class _Asterisk:
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A form as the tree that has it, with stars for leaves."""
    return repr(tree_unflatten([_Asterisk()] * treespec.num_leaves, treespec))


# ---- taking apart and putting together


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) not in SUPPORTED_NODES


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree and its form. What `is_leaf` says yes to is a leaf, whatever it is."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    kind = type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None and issubclass(kind, tuple):
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
        by_key = dict(zip(treespec.keys(), treespec._children, strict=True))
        children = [by_key[key] for key in tree]
    else:
        items, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        children = treespec._children
        if len(items) != len(children) or (kind is not deque and context != treespec.context):
            return None
    found: list[Any] = []
    for item, child in zip(items, children, strict=True):
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
        applies = lambda value: isinstance(value, type_or_types_or_pred)
    elif callable(type_or_types_or_pred):
        applies = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def decorated(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: func(x) if applies(x) else x

    return decorated


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
