"""What containers there are: how trees of `_pytree.py` branch, and the names of their branches."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..core.values import Size, warn

PyTree = Any
Context = Any
DumpableContext = Any
FlattenFn: TypeAlias = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn: TypeAlias = Callable[[Iterable[Any], Context], PyTree]
FlattenWithKeysFn: TypeAlias = Callable[[PyTree], tuple[list[tuple[Any, Any]], Context]]
ToDumpableContextFn: TypeAlias = Callable[[Context], DumpableContext]
FromDumpableContextFn: TypeAlias = Callable[[DumpableContext], Context]
FlattenFunc, UnflattenFunc, FlattenWithKeysFunc = FlattenFn, UnflattenFn, FlattenWithKeysFn


# ---- the way to a leaf


class KeyEntry(Protocol):
    """One step from a container to an item of it."""

    def __hash__(self) -> int: ...
    def __eq__(self, other: object) -> bool: ...
    def __str__(self) -> str: ...
    def get(self, parent: Any) -> Any: ...


KeyPath = tuple[KeyEntry, ...]


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


def keystr(kp: KeyPath) -> str:
    """A path as one would write it after the tree's name."""
    return "".join([str(k) for k in kp])


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What a path leads to."""
    for k in kp:
        obj = k.get(obj)
    return obj


# ---- kinds of containers


class NodeDef(NamedTuple):
    """How containers of one class are taken apart and put together."""

    type: type[Any]
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: FlattenWithKeysFn | None


class _SerializeNodeDef(NamedTuple):
    """How containers of one class are named in a file, and how their context is written."""

    typ: Any
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"

SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()
_lock = threading.RLock()


def register_pytree_node(
    cls: type[Any], flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *, serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None, from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:  # fmt: skip
    """Make instances of `cls` containers.

    `flatten_fn(tree)` gives the items and a context that says all else about the tree; `unflatten_fn(items, context)`
    makes one from them.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _register(
        cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context, from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )  # fmt: skip


def _register_pytree_node(
    cls: type[Any], flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, to_str_fn: Any = None,
    maybe_from_str_fn: Any = None, **more: Any,
) -> None:  # fmt: skip
    """The former name of `register_pytree_node`, which replaces what was registered before."""
    warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. Please use "
        "`torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
    )
    if cls in SUPPORTED_NODES:
        warn(f"{cls} is already registered as pytree node. Overwriting the previous registration.")
    _register(cls, flatten_fn, unflatten_fn, **more)


def _register(
    cls: Any, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *, serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None, from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:  # fmt: skip
    with _lock:
        SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
        if (to_dumpable_context is None) != (from_dumpable_context is None):
            raise ValueError(
                f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
            )
        name = serialized_type_name or NO_SERIALIZED_TYPE_NAME_FOUND
        SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
        SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Make instances of `cls` leaves again."""
    with _lock:
        del SUPPORTED_NODES[cls]
        named = SUPPORTED_SERIALIZED_TYPES.pop(cls)
        SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(named.serialized_type_name, None)
        CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type[Any], *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:  # fmt: skip
    """Make instances of a dataclass containers of their fields; those to be dropped must have defaults."""
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize "
                f"{cls}, as it is not a dataclass."
            )
        field_names = [f.name for f in dataclasses.fields(cls) if f.init]
    elif dataclasses.is_dataclass(cls):
        wanted = {f.name for f in dataclasses.fields(cls) if f.init} - set(drop_field_names or ())
        given = set(field_names)
        for missing, said in (
            (wanted - given, (
                "field_names does not include all dataclass fields.\nMissing fields in `field_names`: {}. If you want "
                "to include these fields in the pytree, please add them to `field_names`, otherwise please add them to "
                "`drop_field_names`.\n"
            )),
            (given - wanted, (
                "field_names includes fields that are not in the dataclass.\nUnexpected fields in `field_names`: {}. "
                "Please remove these fields, or add them to the dataclass.\n"
            )),
        ):  # fmt: skip
            if missing:
                raise ValueError(said.format(missing))
    names = field_names

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Context]:
        pairs = [(name, getattr(obj, name)) for name in names]
        context = [[n for n, v in pairs if v is not None], [n for n, v in pairs if v is None]]
        return [(GetAttrKey(n), v) for n, v in pairs if v is not None], context

    def flatten(obj: Any) -> tuple[list[Any], Context]:
        pairs, context = flatten_with_keys(obj)
        return [v for _, v in pairs], context

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        given, absent = context
        return cls(**dict(zip(given, values, strict=True)), **dict.fromkeys(absent))

    name = serialized_type_name or f"{cls.__module__}.{cls.__qualname__}"
    _register(cls, flatten, unflatten, serialized_type_name=name, flatten_with_keys_fn=flatten_with_keys)


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    value: Any


def register_constant(cls: type[Any]) -> None:
    """Make instances of `cls` containers without items, so that they are part of a tree's form."""
    for method in ("__eq__", "__hash__"):
        if getattr(cls, method) in (getattr(object, method), None):
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{method}` implementation.")
    _register(
        cls,
        lambda x: ([], ConstantNode(x)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    return isinstance(cls, type) and cls in CONSTANT_NODES


def is_namedtuple(obj: object) -> bool:
    """Whether this is a class made by `namedtuple`, or an instance of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: Any) -> bool:
    if not (isinstance(cls, type) and issubclass(cls, tuple)):
        return False
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(fields, tuple)
        and all(type(f) is str for f in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    return is_namedtuple_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Whether this is the class of an op's several results, as `torch.return_types.max`, or an instance of one."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    if not (isinstance(cls, type) and issubclass(cls, tuple)):
        return False
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return all(isinstance(getattr(cls, n, None), int) for n in counts)


def is_structseq_instance(obj: object) -> bool:
    return is_structseq_class(type(obj))


def _node_type(tree: PyTree) -> Any:
    """The key of a tree's class in the registry, whether there or not."""
    cls = type(tree)
    if cls in SUPPORTED_NODES or not issubclass(cls, tuple):
        return cls
    if is_namedtuple_class(cls):
        return namedtuple
    if is_structseq_class(cls):
        _register(cls, _items, _from_items(cls), flatten_with_keys_fn=_numbered)
    return cls


_get_node_type = _node_type


def _items(sequence: Iterable[Any]) -> tuple[list[Any], Context]:
    return list(sequence), None


def _numbered(sequence: Iterable[Any]) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(i), v) for i, v in enumerate(sequence)], None


def _from_items(cls: type) -> UnflattenFn:
    return lambda values, context: cls(values)


def _mapped(mapping: Any) -> tuple[list[Any], Context]:
    return list(mapping.values()), list(mapping)


def _dict_flatten_with_keys(mapping: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(k), v) for k, v in mapping.items()], list(mapping)


def _from_pairs(cls: type) -> UnflattenFn:
    return lambda values, keys: cls(zip(keys, values, strict=True))


def _register_builtins() -> None:
    for cls in (tuple, list):
        _register(
            cls, _items, _from_items(cls), serialized_type_name=f"builtins.{cls.__name__}",
            flatten_with_keys_fn=_numbered,
        )  # fmt: skip
    for mapping, module in ((dict, "builtins"), (OrderedDict, "collections")):
        _register(
            mapping, _mapped, _from_pairs(mapping), serialized_type_name=f"{module}.{mapping.__name__}",
            flatten_with_keys_fn=_dict_flatten_with_keys,
        )  # fmt: skip
    _register(
        namedtuple,
        lambda x: (list(x), type(x)),
        lambda values, cls: cls(*values),
        serialized_type_name="collections.namedtuple",
        to_dumpable_context=_namedtuple_name,
        from_dumpable_context=_namedtuple_named,
        flatten_with_keys_fn=lambda x: ([(GetAttrKey(f), v) for f, v in zip(x._fields, x, strict=True)], type(x)),
    )
    _register(
        defaultdict,
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
        serialized_type_name="collections.defaultdict",
        to_dumpable_context=_factory_named,
        from_dumpable_context=_factory_of,
        flatten_with_keys_fn=lambda d: (_dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]),
    )
    _register(
        deque,
        lambda d: (list(d), d.maxlen),
        lambda values, maxlen: deque(values, maxlen),
        serialized_type_name="collections.deque",
        flatten_with_keys_fn=lambda d: (_numbered(d)[0], d.maxlen),
    )
    _register(Size, _items, _from_items(tuple), serialized_type_name="torch.Size", flatten_with_keys_fn=_numbered)


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Give a class of named tuples the name by which `treespec_dumps` writes it."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, serialized_type_name, None, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _namedtuple_name(cls: Any) -> str:
    if cls not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a serializated_type_name. "
            "Please register using `_register_namedtuple`."
        )
    return SUPPORTED_SERIALIZED_TYPES[cls].serialized_type_name


def _namedtuple_named(name: str) -> Any:
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[name]


def _factory_named(context: Context) -> DumpableContext:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _factory_of(written: DumpableContext) -> Context:
    import importlib

    module = importlib.import_module(written["default_factory_module"])
    return [getattr(module, written["default_factory_name"]), written["dict_context"]]


_register_builtins()

# What packages that build on the registry's own entries call.
_SHORT = {
    "tuple": tuple, "list": list, "dict": dict, "namedtuple": namedtuple, "ordereddict": OrderedDict,
    "defaultdict": defaultdict, "deque": deque,
}  # fmt: skip
for _name, _cls in _SHORT.items():
    _node = SUPPORTED_NODES[_cls]
    globals()[f"_{_name}_flatten"], globals()[f"_{_name}_unflatten"] = _node.flatten_fn, _node.unflatten_fn
    globals()[f"_{_name}_flatten_with_keys"] = _node.flatten_with_keys_fn

STANDARD_DICT_TYPES = frozenset((dict, OrderedDict, defaultdict))
BUILTIN_TYPES = frozenset((tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque))
