"""Programs of the passes that come with `torch.fx`."""

from __future__ import annotations

import importlib
import operator
import sys
import tempfile
from pathlib import Path

from .passes import small_net
from .programs import fx_of, program, refused


@program
def folders(lib):
    gm = fx_of(lib).symbolic_trace(small_net(lib))
    name = f"folder_of_{lib.__name__}"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / name
        gm.to_folder(folder, "Net")
        files = sorted(p.name for p in folder.iterdir())
        text = (
            (folder / "__init__.py").read_text(),
            [
                line
                for line in (folder / "module.py").read_text().splitlines()
                if "self." in line and "torch.load" not in line
            ],
        )
        sys.path.insert(0, place)
        try:
            net = importlib.import_module(name).Net()
        finally:
            sys.path.remove(place)
            for key in [k for k in sys.modules if k.startswith(name)]:
                del sys.modules[key]
    return files, text, net(lib.ones(1, 3)), sorted(net.state_dict())


@program
def fused_models(lib):
    nn, optimization = lib.nn, fx_of(lib, "experimental.optimization")

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(1, 2, 3, bias=False), nn.BatchNorm2d(2)
            self.c, self.d = nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)
            self.drop = nn.Dropout(0.3)

        def forward(self, x):
            y = self.b(self.a(x))
            z = self.c(y)
            return self.drop(self.d(z)) + y

    lib.manual_seed(0)
    net = Net().eval()
    made = optimization.remove_dropout(optimization.fuse(net))
    part = optimization.extract_subgraph(
        made,
        [n for n in made.graph.nodes if n.op == "call_module"],
        [],
        [n for n in made.graph.nodes if n.op == "call_module"][-1:],
    )
    return made, made(lib.ones(1, 1, 4, 4)), net(lib.ones(1, 1, 4, 4)), refused(optimization.fuse, Net()), part.code


@program
def constants_folded(lib):
    fold = fx_of(lib, "experimental.const_fold")

    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = lib.nn.Parameter(lib.arange(3.0))
            self.b = lib.nn.Parameter(lib.ones(3))

        def forward(self, x):
            c = self.a + self.b
            return x * c.relu() + self.b

    made = fold.split_const_subgraphs(Net())
    made.run_folding()
    return (
        made(lib.ones(3)),
        type(made).__name__,
        made._FX_CONST_FOLDED_ATTRS if hasattr(made, "_FX_CONST_FOLDED_ATTRS") else sorted(made.state_dict()),
    )


@program
def matrix_products_merged(lib):
    merge = fx_of(lib, "experimental.merge_matmul").merge_matmul

    class Net(lib.nn.Module):
        def forward(self, x, a, b):
            return lib.matmul(x, a) + lib.matmul(x, b)

    made = merge(Net())
    return made(lib.ones(2, 3), lib.ones(3, 2), lib.ones(3, 2))


@program
def normalized_arguments(lib):
    fx, F = fx_of(lib), lib.nn.functional
    gm = fx.symbolic_trace(lambda x: F.softmax(F.relu(F.linear(x, x)), 1))
    return [
        (n.name, str(n.normalized_arguments(gm, normalize_to_only_use_kwargs=k)))
        for n in gm.graph.nodes
        for k in (True, False)
    ]


@program
def schemas_of_operators(lib):
    schemas = fx_of(lib, "operator_schemas")
    F = lib.nn.functional
    args = lib.ones(1), lib.ones(1)
    return [
        str(schemas.normalize_function(f, a, k, normalize_to_only_use_kwargs=True))
        for f, a, k in (
            (F.relu, args[:1], {}),
            (F.linear, args, {}),
            (F.cross_entropy, args, {"reduction": "sum"}),
            (F.layer_norm, (args[0], (1,)), {}),
        )
    ]


@program
def managed_passes(lib):
    fx = fx_of(lib)
    base, manager = fx_of(lib, "passes.infra.pass_base"), fx_of(lib, "passes.infra.pass_manager")

    class AddToMul(base.PassBase):
        def call(self, gm):
            changed = False
            for n in gm.graph.nodes:
                if n.target is operator.add:
                    n.target, changed = operator.mul, True
            return base.PassResult(gm, changed)

        def requires(self, gm):
            gm.graph.lint()

    def double_pass(gm):
        return base.PassResult(gm, False)

    def broken(gm):
        raise ValueError("no")

    gm = fx.symbolic_trace(lambda x: x + 2)
    pm = manager.PassManager(
        passes=[AddToMul(), double_pass], run_checks_after_each_pass=True, suppress_check_failures=True
    )
    made = pm(gm)
    pm.add_checks(lambda gm: None)
    early = manager.PassManager(
        passes=[double_pass, AddToMul()], constraints=[manager.this_before_that_pass_constraint(double_pass, AddToMul)]
    )
    return (
        made.graph_module,
        made.modified,
        refused(manager.PassManager(passes=[broken]), gm),
        refused(manager.PassManager(passes=[lambda gm: 3]), gm),
        refused(lambda: early(gm).modified),
        refused(pm.add_checks, lambda: None),
        manager.pass_result_wrapper(lambda gm: None)(gm).modified,
    )


@program
def passes_in_order(lib):
    pm = fx_of(lib, "passes.pass_manager")
    manager = pm.PassManager()

    def first(x):
        return [*x, "first"]

    def second(x):
        return [*x, "second"]

    manager.add_pass(first)
    manager.add_pass(second)
    manager.add_constraint(pm.this_before_that_pass_constraint(first, second))
    found = [manager([])]
    manager.remove_pass(["first"])
    return (
        *found,
        [p.__name__ for p in manager.passes],
        manager([]),
        pm.loop_pass(second, n_iter=2)([]),
        refused(pm.loop_pass, second),
    )


@program
def operators_that_are_supported(lib):
    fx = fx_of(lib)
    s = fx_of(lib, "passes.operator_support")
    partitioner = fx_of(lib, "passes.infra.partitioner")

    class Mine(s.OperatorSupport):
        def is_node_supported(self, submodules, node):
            return node.op == "call_function" and node.target in (operator.add, operator.mul)

    gm = fx.symbolic_trace(lambda x, y: lib.relu((x + y) * y) + (x * 2 + 1))
    part = partitioner.CapabilityBasedPartitioner(gm, Mine(), allows_single_node_partition=True)
    made = part.propose_partitions()
    chained = s.chain(Mine(), s.create_op_support(lambda sub, n: n.target is operator.add))
    either = s.any_chain(Mine(), s.create_op_support(lambda sub, n: n.target is lib.relu))
    told = [[n.name for n in gm.graph.nodes if c.is_node_supported({}, n)] for c in (chained, either)]
    found = sorted(sorted(n.name for n in p.nodes) for p in made)
    fused = part.fuse_partitions(made)
    return found, told, fused(lib.ones(1), lib.ones(1)), len(list(fused.children()))


@program
def tools_for_splitting(lib):
    fx = fx_of(lib)
    t = fx_of(lib, "passes.tools_common")
    gm = fx.symbolic_trace(small_net(lib))
    first = next(n for n in gm.graph.nodes if n.op == "call_module")
    return (
        t.get_node_target(dict(gm.named_modules()), first),
        t.get_node_target({}, gm.graph.output_node()) if False else None,
        sorted(t.CALLABLE_NODE_OPS),
        [n.name for n in t.legalize_graph(gm).graph.nodes],
        t.is_node_output_tensor(first),
        t.get_acc_ops_name if False else None,
    )


@program
def components_that_are_split_by_tags(lib):
    fx = fx_of(lib)
    s = fx_of(lib, "passes.split_utils")
    gm = fx.symbolic_trace(lambda x: (x + 1).relu() * 2 - 3)
    for i, n in enumerate(n for n in gm.graph.nodes if n.op.startswith("call")):
        n.tag = f"part_{i // 2}"
    made = s.split_by_tags(gm, ["part_0", "part_1"])
    return made, [(n, m.code) for n, m in made.named_children()], made(lib.ones(1))


@program
def items_that_are_annotated(lib):
    gm = fx_of(lib).symbolic_trace(lambda x: x.split(1)[0] + 1)
    g = fx_of(lib, "passes.graph_manipulation")
    order = g.replace_target_nodes_with
    order(gm, "call_function", operator.add, "call_function", operator.sub)
    return gm.code, [n.target.__name__ for n in gm.graph.nodes if n.op == "call_function"]


@program
def traces_that_are_kept(lib):
    fx = fx_of(lib)
    tb = fx_of(lib, "traceback")
    found = [tb.has_preserved_node_meta(), tb.format_stack() if False else None]
    with tb.preserve_node_meta():
        found.append(tb.has_preserved_node_meta())
        with tb.annotate({"stage": 1}):
            gm = fx.symbolic_trace(lambda x: x.relu() + 1)
            found.append([n.meta.get("custom") for n in gm.graph.nodes])
        again = fx.Transformer(gm).transform()
    return (
        *found,
        [n.meta.get("custom") for n in again.graph.nodes],
        tb.has_preserved_node_meta(),
        tb.get_current_meta(),
    )
