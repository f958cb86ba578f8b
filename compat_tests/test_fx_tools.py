"""`torch.fx`: what is told of types and arguments, tracing with assertions, and passes that rewrite graphs."""

from __future__ import annotations

import collections
import importlib
import pickle
import re
import typing

import pytest

import torchlite
from compat_tests.test_fx import fx_of

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])


def code(module):
    return re.sub(r"\s*\n\s*", "\n", module.code).strip()


# ---- types


def types_of(lib):
    made = fx_of(lib, "fx.tensor_type")
    dyn, kind = made.Dyn, made.TensorType
    return made, [dyn, kind((1, 2)), kind([1, dyn]), kind((dyn, dyn)), kind((1, 2, 3)), kind((kind((1,)),)), 1, "a"]


def test_types_of_tensors_are_compared_as_in_pytorch():
    def told(lib):
        made, kinds = types_of(lib)
        pairs = [(a, b) for a in kinds for b in kinds]
        return (
            [repr(k) for k in kinds], [a == b for a, b in pairs], made.TensorType[1, 2].__args__,
            [made.is_consistent(a, b) for a, b in pairs], [made.is_more_precise(a, b) for a, b in pairs],
        )  # fmt: skip

    assert told(torchlite) == told(torch)


@BOTH
def test_equalities(lib):
    same = fx_of(lib, "fx.experimental.refinement_types").Equality
    assert str(same(1, "a")) == repr(same(1, "a")) == "1 = a"
    assert same(1, 2) == same(1, 2) != same(2, 1)
    assert same(1, 2) != 1


HINTS = [
    [1, 2], (1, "a"), [], (), [int], [int, int], (int, str), (bool, int), [typing.List[int]] * 2, 3, int, [[1]],  # noqa: UP006
]  # fmt: skip


def test_hints_of_lists_of_types():
    def told(lib):
        hint = fx_of(lib, "fx.operator_schemas").create_type_hint
        tensors = (lib.Tensor, lib.nn.Parameter)
        return [repr(hint(x)) for x in HINTS], hint(tensors) == tuple[lib.Tensor, ...]

    assert told(torchlite) == told(torch)


def test_which_types_parameters_take():
    def told(lib):
        T = lib.Tensor
        kinds = [
            int, float, bool, str, T, lib.nn.Parameter, lib.dtype, complex, type(None), list, typing.Any, list[int],
            typing.List[int], typing.List[T], typing.List[bool], typing.List[typing.Any], typing.Optional[int],  # noqa: UP006, UP045
            typing.Optional[T], typing.Tuple[int, ...], typing.Tuple[int, int], typing.Tuple[int, bool],  # noqa: UP006, UP045
            typing.Union[int, float], typing.Optional[typing.List[int]], typing.List[lib.nn.Parameter],  # noqa: UP006, UP007, UP045
        ]  # fmt: skip
        takes = fx_of(lib, "fx.operator_schemas").type_matches
        return [[takes(a, b) for b in kinds] for a in kinds]

    assert told(torchlite) == told(torch)


def test_arguments_in_descriptions():
    Pair = collections.namedtuple("Pair", "a b")

    class Told:
        def _custom_fx_repr_fn(self):
            return "told"

    def told(lib):
        shown, node = fx_of(lib, "fx.node")._format_arg, lib.fx.Graph().placeholder("x")
        given = [
            node, [node, 1], (node,), (1, 2, 3), {"a": [1, 2, 3, node]}, slice(node, 1), [], (), None, 1.5, Told(),
            Pair(1, node), lib.float32,
        ]  # fmt: skip
        return [[shown(a), shown(a, 2), shown(a, 0)] for a in given]

    assert told(torchlite) == told(torch)


# ---- tracing


@BOTH
def test_scopes(lib):
    proxy = fx_of(lib, "fx.proxy")
    outer, inner = proxy.Scope("a", int), proxy.Scope("b", str)
    with proxy.ScopeContextManager(outer, inner) as scope:
        assert scope is outer
        assert (scope.module_path, scope.module_type) == ("b", str)
    assert (outer.module_path, outer.module_type) == ("a", int)

    tracer = lib.fx.Tracer()
    tracer.trace(lib.nn.Sequential(lib.nn.Sequential(lib.nn.ReLU())))
    assert {name: (path, kind and kind.__name__) for name, (path, kind) in tracer.node_name_to_scope.items()} == {
        "input_1": ("", None), "_0_0": ("0.0", "ReLU"), "output": ("", None),
    }  # fmt: skip


@BOTH
def test_arguments_that_stay_may_say_something_of_their_nodes(lib):
    places = fx_of(lib, "fx._symbolic_trace")
    marked = places.PHWithMeta("key")
    marked.note = [1]
    assert repr(marked) == "PH"
    assert isinstance(marked, places.PHBase)
    made = lib.fx.symbolic_trace(lambda a, b: a[0] + b, concrete_args={"a": [marked], "b": places.PHWithMeta()})
    first, second = (n for n in made.graph.nodes if n.op == "placeholder")
    assert (first.ph_key, first.note, second.ph_key) == ("key", [1], None)


def asserted(lib):
    class Asserted(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = lib.nn.Linear(2, 2)
            self.width = 2

        def forward(self, x, times=2, *, more=1):
            assert x.sum() > 0, "positive"
            assert x
            return self.inner(x) * self.width * times + more

    return Asserted()


def test_assertions_are_rewritten():
    def told(lib):
        tracer = fx_of(lib, "fx.experimental.rewriter").RewritingTracer()
        module = asserted(lib)
        graph = tracer.trace(module)
        assert tracer.root.inner is module.inner
        return tracer.root_module_name, str(graph), code(lib.fx.GraphModule(tracer.root, graph))

    assert told(torchlite) == told(torch)


def test_rewritten_functions_keep_what_they_see():
    limit = torchlite.tensor(3.0)

    def limited(x, *, by=2):
        assert x.sum() < limit, "too large"
        doubled: torchlite.Tensor = x * by
        return doubled

    made = fx_of(torchlite, "fx.experimental.rewriter")._rewrite(limited)
    assert made(torchlite.ones(2)).tolist() == [2, 2]
    assert (made.__name__, made.__kwdefaults__) == ("limited", {"by": 2})
    with pytest.raises(AssertionError, match="too large"):
        made(torchlite.ones(4))
    graph = fx_of(torchlite, "fx.experimental.rewriter").RewritingTracer().trace(limited)
    assert [n.type for n in graph.nodes if n.name == "mul"] == [torchlite.Tensor]


def test_names_that_code_may_use_are_more():
    def told(lib):
        made = fx_of(lib, "fx.graph")
        made._register_custom_builtin("many", "from collections import Counter as many", collections.Counter)
        try:

            class Counting(made.CodeGen):
                def generate_output(self, output_args, **_):
                    return f"return many({output_args})"

            graph = lib.fx.Graph()
            graph.set_codegen(Counting())
            graph.output(graph.placeholder("x"))
            module = lib.fx.GraphModule({}, graph)
            assert module("aab") == {"a": 2, "b": 1}
            return code(module), sorted(made._custom_builtins)
        finally:
            made._custom_builtins.pop("many")

    assert told(torchlite) == told(torch)


class Twin:
    def __init__(self, first, second):
        self.first, self.second = first, second


@BOTH
def test_containers_of_programs_are_taken_apart(lib):
    trees, seen = fx_of(lib, "utils._pytree"), fx_of(lib, "fx._pytree")
    trees.register_pytree_node(Twin, lambda t: ([t.first, t.second], None), lambda parts, _: Twin(*parts))
    try:
        seen.register_pytree_flatten_spec(Twin, lambda t, spec: [t.second, t.first])
        spec = trees.tree_flatten((Twin(1, 2), [3]))[1]
        assert seen.tree_flatten_spec((Twin(4, 5), [6]), spec) == [5, 4, 6]
        program = lib.fx.symbolic_trace(lambda t: t.first - t.second, concrete_args={"t": Twin(lib.fx.PH, lib.fx.PH)})
        assert program(Twin(7, 9)) == 2
    finally:
        del seen.SUPPORTED_NODES[Twin]
        trees._deregister_pytree_node(Twin)


# ---- passes


def test_nodes_of_patterns_have_names():
    def told(lib):
        def pattern(pair):
            made = lib.mm(*pair)
            last = lib.relu(made) * 2
            return last, {"product": made, "last": last}

        def program(a, b):
            return lib.relu(lib.mm(a, b) * 1) * 2 + lib.relu(lib.mm(b, a)) * 2

        made = fx_of(lib, "fx.passes.utils.matcher_with_name_node_map_utils")
        traced = lib.fx.symbolic_trace(pattern, concrete_args={"pair": (lib.fx.PH, lib.fx.PH)})
        found = made.SubgraphMatcherWithNameNodeMap(traced).match(lib.fx.symbolic_trace(program).graph)
        with pytest.raises(AssertionError) as refused:
            made._split_to_graph_and_name_node_map(traced)
        return [(str(m.name_node_map), str(m.returning_nodes)) for m in found], str(refused.value)

    assert told(torchlite) == told(torch)


def test_nodes_keep_what_modules_are_made_of():
    def told(lib):
        nn, made = lib.nn, fx_of(lib, "fx.passes.param_fetch")
        parts = nn.Linear(2, 2), nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)
        module = lib.fx.symbolic_trace(nn.Sequential(*parts, nn.ReLU()))
        made.lift_lowering_attrs_to_nodes(module)
        kept = [n.attrs_for_lowering for n in module.graph.nodes if n.op == "call_module"]
        assert kept[0]["weight"] is parts[0].weight
        with pytest.raises(RuntimeError, match="Tanh is not in the module_fetch_book yet"):
            made.extract_attrs_for_lowering(nn.Tanh())
        return [{k: v for k, v in of.items() if not isinstance(v, lib.Tensor)} for of in kept]

    assert told(torchlite) == told(torch)


MERGED = {
    "the same calls": lambda x: (x.cos() + x.cos(), x.sum(1) + x.sum(dim=1)),
    "nothing": lambda x: x.cos() + x.sin(),
    "slices": lambda x: x[1:] + x[1:] + x[:2],
    "banned ones": lambda x: x.sin() + x.sin() + x.clone() + x.clone(),
}


@pytest.mark.parametrize("program", list(MERGED))
def test_calls_with_the_same_arguments_are_merged(program):
    def told(lib):
        made = fx_of(lib, "fx.passes.dialect.common.cse_pass")
        graph = fx_of(lib, "fx.experimental.proxy_tensor").make_fx(MERGED[program])(lib.ones(3, 3))
        result = made.CSEPass({lib.ops.aten.sin})(graph)
        assert (result.graph_module is graph) is not result.modified
        return result.modified, code(result.graph_module), sorted(str(op) for op in made.get_CSE_banned_ops())

    assert told(torchlite) == told(torch)


def normal(lib):
    F = lib.nn.functional

    class Normal(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.c = lib.nn.Conv2d(1, 1, 1)
            self.w = lib.nn.Parameter(lib.ones(1))

        def forward(self, x):
            return F.max_pool2d(F.relu(self.c(x)), 2) + lib.mul(x, self.w) + lib.stack([x], 0)

    return lib.fx.symbolic_trace(Normal())


@pytest.mark.parametrize("by_name", [True, False])
def test_arguments_get_names_and_defaults(by_name):
    def told(lib):
        # Which overload of `mul` is meant cannot be known without types, for PyTorch.
        made = code(fx_of(lib, "fx.experimental.normalize").NormalizeArgs(normal(lib), by_name).transform())
        return [line for line in made.splitlines() if "torch.mul" not in line]

    assert told(torchlite) == told(torch)


def test_functions_become_operators_and_get_types():
    def told(lib):
        normalize = fx_of(lib, "fx.experimental.normalize").NormalizeOperators
        annotated = fx_of(lib, "fx.experimental.schema_type_annotation").AnnotateTypesWithSchema
        plain = annotated(normal(lib), annotate_modules=False, annotate_get_attrs=False).transform()
        binary = lib.fx.symbolic_trace(lambda x, y: [
            lib.add(x, y), lib.div(x, y), lib.floor_divide(x, y), lib.remainder(x, y), lib.eq(x, y), lib.ge(x, y),
            lib.matmul(x, y),
        ])  # fmt: skip
        return code(normalize(normal(lib)).transform()), code(plain), code(normalize(binary).transform())

    assert told(torchlite) == told(torch)


@BOTH
def test_code_is_made_when_it_is_needed(lib):
    lazy = fx_of(lib, "fx._lazy_graph_module")
    graph = lib.fx.Tracer().trace(lambda x: x + 1)
    with lazy._use_lazy_graph_module(True):
        assert lazy._get_graph_module_cls() is lazy._LazyGraphModule
        run, asked = lazy._make_graph_module({}, graph), lazy._make_graph_module({}, graph)
        traced = lib.fx.symbolic_trace(lambda x: x * 2)
    with lazy._force_skip_lazy_graph_module(), lazy._use_lazy_graph_module(True):
        assert lazy._get_graph_module_cls() is lib.fx.GraphModule
    assert lazy._get_graph_module_cls() is lib.fx.GraphModule
    assert all(isinstance(m, lazy._LazyGraphModule) and m._needs_recompile() for m in (run, asked, traced))
    assert run(lib.ones(1)) == 2
    assert "x + 1" in asked.code
    assert not run._needs_recompile()
    assert not asked._needs_recompile()
    run.recompile()
    assert run._needs_recompile()
    lazy._LazyGraphModule.force_recompile(run)
    assert not run._needs_recompile()
    assert pickle.loads(pickle.dumps(traced))(lib.ones(1)) == 2
    assert lazy._LazyGraphModule.from_graphmodule(run) is run
    assert lazy._LazyGraphModule.from_graphmodule(lib.fx.GraphModule({}, graph))._needs_recompile()


@BOTH
def test_passes_are_observed(lib, tmp_path):
    observer = fx_of(lib, "fx.passes.graph_transform_observer").GraphTransformObserver
    module = lib.fx.symbolic_trace(lambda x: x.relu() + 1)
    assert observer(module, "pass").apply_gm_pass(lambda m: m) is module
    assert observer(module, "pass").apply_graph_pass(lambda g: g) is module.graph
    assert not observer(module, "pass").active
    if lib is torchlite:  # PyTorch needs pydot
        count = observer.get_current_pass_count()
        with observer(module, "pass", log_url=str(tmp_path)) as seen:
            module.graph.erase_node(module.graph.call_function(lib.neg, (next(iter(module.graph.nodes)),)))
        assert seen.created_nodes == seen.erased_nodes == {"neg"}
        assert observer.get_current_pass_count() == count + 1
        assert len(list(tmp_path.iterdir())) == 2


@BOTH
def test_the_debugger_is_entered(lib):
    made = fx_of(lib, "fx.experimental.debug").set_trace(lib.fx.symbolic_trace(lambda x: x + 1))
    assert "import pdb; pdb.set_trace()\n" in made.code.replace("    ", "")
    made.recompile()
    assert "pdb" not in made.code


@pytest.mark.parametrize("name", [
    "experimental.accelerator_partitioner.Partitioner", "experimental.unify_refinements.infer_symbolic_types",
    "experimental.graph_gradual_typechecker.GraphTypeChecker", "experimental.meta_tracer.symbolic_trace",
])  # fmt: skip
def test_what_is_there_for_its_name_says_so(name):
    module, _, last = f"fx.{name}".rpartition(".")
    with pytest.raises(NotImplementedError, match=f"torchlite has no torch.fx.{name}"):
        getattr(importlib.import_module(f"torchlite.{module}"), last)()
