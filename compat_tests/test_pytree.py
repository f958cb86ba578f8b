"""`torch.utils._pytree`: nested containers taken apart and put together, beside real PyTorch."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")

import torch.utils._pytree as theirs  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import torchlite  # noqa: E402
import torchlite.utils._pytree as ours  # noqa: E402

Pair = namedtuple("Pair", "a b")
BOTH = (theirs, ours)


def trees():
    keys = st.sampled_from("abc")
    leaf = st.one_of(st.integers(-3, 3), st.none(), st.text("xy", max_size=2), st.floats(allow_nan=False), st.just({1}))
    return st.recursive(
        leaf,
        lambda items: st.one_of(
            st.lists(items, max_size=3),
            st.lists(items, max_size=3).map(tuple),
            st.dictionaries(keys, items, max_size=3),
            st.dictionaries(keys, items, max_size=3).map(OrderedDict),
            st.dictionaries(keys, items, max_size=3).map(lambda d: defaultdict(list, d)),
            st.lists(items, max_size=3).map(lambda v: deque(v, maxlen=4)),
            st.tuples(items, items).map(lambda v: Pair(*v)),
        ),
        max_leaves=8,
    )


def outcome(f, library):
    """What `f` gives, as text, or how it fails."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = repr(f(library))
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    return found, [str(w.message).replace("torchlite", "torch") for w in seen]


def agree(f):
    wanted, found = [outcome(f, library) for library in BOTH]
    assert found == wanted


def halves(p, tree):
    return [
        p.tree_map(lambda x: (x, x), tree), p.tree_map_only((int, str), lambda x: x * 2, tree),
        p.tree_map_with_path(lambda path, x: p.keystr(path), tree),
    ]  # fmt: skip


@settings(deadline=None)
@given(trees())
def test_taking_apart_and_putting_together(tree):
    agree(lambda p: p.tree_flatten(tree))
    agree(lambda p: p.tree_unflatten(p.tree_leaves(tree), p.tree_structure(tree)))
    agree(lambda p: p.tree_flatten_with_path(tree))
    agree(lambda p: halves(p, tree))
    agree(lambda p: p.treespec_pprint(p.tree_structure(tree)))
    agree(lambda p: p.treespec_dumps(p.tree_structure(tree)))
    agree(lambda p: p.treespec_loads(p.treespec_dumps(p.tree_structure(tree))) == p.tree_structure(tree))
    agree(lambda p: [getattr(p.tree_structure(tree), n) for n in ("num_leaves", "num_nodes", "num_children", "type")])
    agree(lambda p: p.tree_leaves(tree, is_leaf=lambda x: isinstance(x, tuple)))


@settings(deadline=None)
@given(trees(), trees())
def test_two_trees(a, b):
    agree(lambda p: p.tree_structure(a) == p.tree_structure(b))
    agree(lambda p: p.tree_structure(a).flatten_up_to(b))
    agree(lambda p: p._broadcast_to_and_flatten(a, p.tree_structure(b)))
    agree(lambda p: p.tree_map(lambda x, y: (x, y), a, b))


@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_branches_are_matched_by_their_keys(kind):
    one, other = kind(a=1, b=2, c=3), kind(c=[1, 2], a=[], b=5)
    agree(lambda p: p._broadcast_to_and_flatten(one, p.tree_structure(other)))
    agree(lambda p: p.tree_structure(one).flatten_up_to(kind(other)))


def test_questions():
    agree(lambda p: (p.tree_all(lambda x: x > 0, [1, 2]), p.tree_any(lambda x: x > 1, (1,))))
    agree(lambda p: (p.tree_all_only(int, bool, [1, "", 0]), p.tree_any_only(str, bool, [1, "", 0])))
    agree(lambda p: [p.tree_is_leaf(x) for x in (1, [], None, {1})])
    agree(lambda p: [p.is_namedtuple(x) for x in (Pair, Pair(1, 2), (1,), 3)])
    agree(lambda p: [p.is_structseq(x) for x in (Pair, (1,), 3)])
    assert ours.is_structseq(torchlite.ones(2, 2).max(0))


def test_sizes_and_results_of_several_tensors():
    for library, p in zip((torch, torchlite), BOTH):
        result = library.ones(2, 3).max(0)
        leaves, spec = p.tree_flatten(result)
        assert repr(spec) == "TreeSpec(max, None, [*,\n  *])"
        assert type(p.tree_unflatten(leaves, spec)) is type(result)
        assert p.tree_map(lambda n: n + 1, library.Size([1, 2])) == (2, 3)


BAD = {
    "too few leaves": lambda p: p.tree_unflatten([1], p.tree_structure((1, 2))),
    "no spec": lambda p: p.tree_unflatten([1], "spec"),
    "no spec to write": lambda p: p.treespec_dumps(3),
    "protocol": lambda p: p.treespec_dumps(p.tree_structure(1), protocol=7),
    "no JSON": lambda p: p.treespec_loads("x"),
    "other protocol": lambda p: p.treespec_loads("[3, {}]"),
    "unknown type": lambda p: p.treespec_loads('[1, {"type": "x", "context": "null", "children_spec": []}]'),
    "twice": lambda p: p.register_pytree_node(dict, None, None),
    "no predicate": lambda p: p.map_only("int"),
    "identity": lambda p: p.register_constant(type("C", (), {})),
    "no dataclass": lambda p: p.register_dataclass(int),
    "changed": lambda p: setattr(p.tree_structure([1]), "type", tuple),
    "path": lambda p: p.key_get([1], (p.SequenceKey(4),)),
}


@pytest.mark.parametrize("program", BAD.values(), ids=BAD)
def test_errors(program):
    agree(program)


def test_registering_a_class():
    def program(p):
        class Point:
            def __init__(self, x, y):
                self.x, self.y = x, y

        p.register_pytree_node(
            Point, lambda q: ([q.x, q.y], "point"), lambda values, context: Point(*values), serialized_type_name="Point"
        )
        leaves, spec = p.tree_flatten({"p": Point(1, [2])})
        made = p.tree_map(lambda x: x + 1, Point(1, 2))
        told = [leaves, spec, p.treespec_loads(p.treespec_dumps(spec)) == spec, made.x, made.y]
        told += [outcome(lambda p: p.tree_flatten_with_path(Point(1, 2)), p)[0].split("<locals>")[-1]]
        p._deregister_pytree_node(Point)
        return [*told, p.tree_is_leaf(Point(1, 2))]

    agree(program)


@dataclasses.dataclass
class Settings:
    rate: object
    steps: object
    name: object = "x"


def test_registering_a_dataclass():
    def program(p):
        p.register_dataclass(Settings)
        try:
            found = p.tree_flatten_with_path(Settings(1, [2], None))
            return found, p.tree_map(lambda x: x * 2, Settings(1, [2], None))
        finally:
            p._deregister_pytree_node(Settings)

    agree(program)


@dataclasses.dataclass(frozen=True)
class Fixed:
    value: int


def test_constants():
    def program(p):
        p.register_constant(Fixed)
        try:
            same = p.tree_structure(Fixed(1)) == p.tree_structure(Fixed(1))
            other = p.tree_structure(Fixed(1)) == p.tree_structure(Fixed(2))
            return p.tree_flatten([Fixed(1), 2]), same, other, p.is_constant_class(Fixed)
        finally:
            p._deregister_pytree_node(Fixed)

    agree(program)


def test_naming_a_namedtuple():
    def program(p):
        refused = outcome(lambda p: p.treespec_dumps(p.tree_structure(Pair(1, 2))), p)
        p._register_namedtuple(Pair, serialized_type_name="Pair")
        try:
            written = p.treespec_dumps(p.tree_structure(Pair(1, 2)))
            return refused, written, p.treespec_loads(written)
        finally:
            del p.SUPPORTED_SERIALIZED_TYPES[Pair], p.SERIALIZED_TYPE_TO_PYTHON_TYPE["Pair"]

    agree(program)


def test_names():
    import torchlite.utils._cxx_pytree as fast

    assert set(ours.__all__) == set(theirs.__all__)
    assert fast.tree_map is ours.tree_map


def test_forms_can_be_pickled_and_copied():
    form = ours.tree_structure([1, {"a": (2, None)}])
    assert pickle.loads(pickle.dumps(form)) == form
    assert copy.deepcopy(form) == form
