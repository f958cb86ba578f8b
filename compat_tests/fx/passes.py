"""Programs that run, rewrite, split and save graphs."""

from __future__ import annotations

import contextlib
import copy
import io
import operator
import pickle

from .programs import Point, double, fx_of, nodes, program, refused


def small_net(lib):
    nn = lib.nn
    lib.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()), nn.Linear(4, 2))


def printed(f, *args, **kwargs):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        f(*args, **kwargs)
    return out.getvalue()


# ---- running


@program
def interpreters_that_watch(lib):
    fx, seen = fx_of(lib), []

    class Watch(fx.Interpreter):
        def run_node(self, n):
            made = super().run_node(n)
            seen.append((n.op, n.name, type(made).__name__))
            return made

        def placeholder(self, target, args, kwargs):
            return super().placeholder(target, args, kwargs) * 2

        def get_attr(self, target, args, kwargs):
            seen.append(target)
            return super().get_attr(target, args, kwargs)

        def call_module(self, target, args, kwargs):
            return super().call_module(target, args, kwargs) + 1

        def output(self, target, args, kwargs):
            return {"out": args[0]}

    gm = fx.symbolic_trace(small_net(lib))
    watch = Watch(gm)
    return watch.run(lib.ones(1, 3)), seen, sorted(n.name for n in watch.env), watch.name, sorted(watch.submodules)


@program
def interpreters_that_keep_values(lib):
    fx = fx_of(lib)
    gm = fx.symbolic_trace(lambda x, y=2: (x + y).relu() * x)
    i = fx.Interpreter(gm, garbage_collect_values=False)
    made = i.run(lib.ones(1))
    x = next(iter(gm.graph.nodes))
    again = fx.Interpreter(gm).run(initial_env={x: lib.full((1,), 3.0)})
    return (
        made,
        {n.name: v for n, v in i.env.items()},
        refused(lambda: again),
        fx.Interpreter(gm).boxed_run([lib.ones(1), 5]),
    )


@program
def interpreters_without_what_they_need(lib):
    fx = fx_of(lib)
    gm = fx.symbolic_trace(lambda x, y: x + y)
    g = fx.Graph()
    g.output(g.get_attr("nope"))
    g.owning_module = None
    m = lib.nn.Module()
    return (
        refused(fx.Interpreter(gm).run, lib.ones(1)),
        refused(fx.Interpreter(gm).run, lib.ones(1), lib.ones(1), 3),
        refused(fx.Interpreter(m, graph=g).run),
        refused(fx.Interpreter, m),
        refused(fx.Interpreter(gm).run, x=1),
    )


@program
def interpreters_of_rest_arguments(lib):
    fx = fx_of(lib)
    gm = fx.symbolic_trace(lambda x, *rest: x + rest[0])
    return gm, fx.Interpreter(gm).run(lib.ones(1), lib.ones(1), 2), gm(lib.ones(1), lib.ones(1))


@program
def transformers(lib):
    fx = fx_of(lib)

    class Swap(fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is operator.add:
                return super().call_function(operator.mul, args, kwargs)
            return super().call_function(target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return args[0] if target == "relu" else super().call_method(target, args, kwargs)

        def call_module(self, target, args, kwargs):
            made = super().call_module(target, args, kwargs)
            return made.clamp(max=0.5) if target == "0" else made

        def get_attr(self, target, args, kwargs):
            return super().get_attr(target, args, kwargs) + 1

    a = fx.symbolic_trace(lambda x, y: (x + y).relu().neg() + lib.sigmoid(x))
    b = fx.symbolic_trace(small_net(lib))
    return (
        Swap(a).transform(),
        Swap(b).transform(),
        Swap(b).transform()(lib.ones(1, 3)),
        fx.Transformer(a).transform().code == a.code,
    )


@program
def functions_that_transform_nodes(lib):
    fx = fx_of(lib)
    gm = fx.symbolic_trace(lambda x: lib.relu(x) + lib.relu(x + 1))
    new, env = fx.Graph(), {}
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target is lib.relu:
            p = fx.Proxy(env[node.args[0]], fx.proxy.GraphAppendingTracer(new))
            env[node] = ((p > 0) * p + p.exp()[0]).node
        else:
            env[node] = new.node_copy(node, lambda n: env[n])
    return fx.GraphModule(gm, new)


@program
def proxies_appended_to_graphs(lib):
    fx = fx_of(lib)
    g = fx.Graph()
    x = fx.Proxy(g.placeholder("x"))
    y = lib.cat([x, x.t()], 0)
    z = y[..., None].size(-1) + (x @ y) ** 2
    g.output(z.node)
    return (
        nodes(g),
        repr(x),
        repr(y.shape),
        type(x.shape).__name__,
        refused(len, x),
        refused(bool, x),
        refused(iter, x),
        str(x.node),
    )


# ---- saving


@program
def pickles(lib):
    fx = fx_of(lib)
    found = []
    for gm in (
        fx.symbolic_trace(small_net(lib)),
        fx.symbolic_trace(lambda x, y=1.5: (lib.relu(x) + y, {"k": double(x)})),
        fx.symbolic_trace(lambda x: x * float("inf") + x.to(lib.float16)),
    ):
        again = pickle.loads(pickle.dumps(gm))
        found += [again, again.code == gm.code, type(again).__name__, str(again.graph) == str(gm.graph)]
    return found


@program
def deep_copies(lib):
    gm = fx_of(lib).symbolic_trace(small_net(lib))
    gm.meta["k"] = [1]
    for n in gm.graph.nodes:
        n.meta["z"] = n.name
    gm.extra = {"a": 1}
    made, shallow = copy.deepcopy(gm), copy.copy(gm)
    made.graph.output_node().args = (next(iter(made.graph.nodes)),)
    made.recompile()
    return (
        made,
        gm,
        made.meta,
        getattr(made, "extra", None),
        [n.meta for n in made.graph.nodes],
        shallow.code == gm.code,
        shallow.get_parameter("0.weight") is gm.get_parameter("0.weight"),
        made.get_parameter("0.weight") is gm.get_parameter("0.weight"),
        type(shallow).__name__,
        getattr(shallow, "extra", None),
    )


@program
def modules_that_are_traced_again(lib):
    fx = fx_of(lib)
    gm = fx.symbolic_trace(small_net(lib))
    again = fx.symbolic_trace(gm)
    third = fx.symbolic_trace(fx.symbolic_trace(lambda x, y=2: {"a": x + y}))
    return again, again(lib.ones(1, 3)), third, type(again).__name__


@program
def modules_within_traced_modules(lib):
    fx = fx_of(lib)
    inner = fx.symbolic_trace(lambda x: x.relu() + 1)

    class Outer(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) * 2

    return fx.symbolic_trace(Outer())


@program
def states_of_modules(lib):
    gm = fx_of(lib).symbolic_trace(small_net(lib))
    state = gm.state_dict()
    other = fx_of(lib).symbolic_trace(small_net(lib))
    for p in other.parameters():
        p.data.zero_()
    found = [other(lib.ones(1, 3)), str(other.load_state_dict(state)), other(lib.ones(1, 3))]
    gm(lib.ones(1, 3)).sum().backward()
    return *found, {k: p.grad for k, p in gm.named_parameters()}, gm.half()(lib.ones(1, 3).half()).dtype


@program
def hooks_of_nodes(lib):
    gm, seen = fx_of(lib).symbolic_trace(lambda x: lib.relu(x) + 1), []
    made, gone = (lambda n: seen.append(("made", n.name))), (lambda n: seen.append(("gone", n.name)))
    gm._register_create_node_hook(made)
    gm._register_erase_node_hook(gone)
    relu = gm.graph.find_nodes(op="call_function", target=lib.relu)[0]
    with (
        gm.graph.inserting_after(relu),
        gm._set_replace_hook(lambda old, new, user: seen.append((str(old), str(new), str(user)))),
    ):
        new = gm.graph.call_method("abs", (relu.args[0],))
        relu.replace_all_uses_with(new)
    gm.graph.erase_node(relu)
    gm._unregister_create_node_hook(made)
    gm._unregister_erase_node_hook(gone)
    gm.graph.call_method("neg", (new,))
    return seen


# ---- rewriting


@program
def patterns_in_chains(lib):
    fx, F = fx_of(lib), lib.nn.functional
    found = []
    for f, pattern, replacement in (
        (lambda x: lib.relu(lib.relu(lib.relu(x))), lambda x: lib.relu(lib.relu(x)), lambda x: lib.tanh(x)),
        (
            lambda x, w: lib.sigmoid(x @ w) + lib.sigmoid(w @ x),
            lambda a, b: lib.sigmoid(a @ b),
            lambda a, b: F.hardsigmoid(b @ a),
        ),
        (lambda x: x + 1 + 1 + 2, lambda x: x + 1, lambda x: x - 1),
        (lambda x: x.neg().abs() * x.neg().exp(), lambda x: x.neg(), lambda x: -x),
        (lambda x: (x.relu(), x.relu() + x.relu()), lambda x: x.relu(), lambda x: x.clamp(min=0)),
        (lambda x, y: lib.cat([x, y], 1).sum(dim=1), lambda a, b: lib.cat([a, b], 1), lambda a, b: a + b),
        (lambda x: lib.max(x, dim=1)[0] * 2, lambda x: lib.max(x, dim=1)[0], lambda x: x.amax(1)),
        (lambda x: F.dropout(x, 0.5, training=True), lambda x: F.dropout(x, 0.5, training=True), lambda x: x),
        (lambda x, y: x * y + x * y, lambda a, b: a * b, lambda a, b: a / b),
        (lambda x: x + 3, lambda x: x + 4, lambda x: x),
        (lambda x, y: (x + y) - (x + y), lambda a, b: a + b - (a + b), lambda a, b: a),
        (
            lambda x, y: lib.add(x, y).relu() + lib.add(x, y),
            lambda a, b: lib.add(a, b).relu(),
            lambda a, b: lib.mul(a, b),
        ),
        (lambda x: lib.split(x, 1)[0] + 1, lambda x: (lib.relu(x), lib.neg(x)), lambda x: (lib.abs(x), lib.exp(x))),
        (lambda x: (lib.relu(x), lib.neg(x)), lambda x: (lib.relu(x), lib.neg(x)), lambda x: (lib.abs(x), lib.exp(x))),
    ):
        gm = fx.symbolic_trace(f)
        matches = refused(fx.replace_pattern, gm, pattern, replacement)
        gm.graph.lint()
        if isinstance(matches, tuple):
            found.append(matches)
            continue
        found += [[(str(m.anchor), {str(k): str(v) for k, v in m.nodes_map.items()}) for m in matches], gm.code]
    return found


@program
def patterns_of_modules(lib):
    fx, nn = fx_of(lib), lib.nn

    class Pattern(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.act = nn.Linear(1, 1), nn.ReLU()

        def forward(self, x):
            return self.act(self.lin(x))

    class New(nn.Module):
        def __init__(self):
            super().__init__()
            self.both = nn.Identity()

        def forward(self, x):
            return self.both(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.act = nn.Linear(3, 3), nn.ReLU()

        def forward(self, x):
            return self.act(self.lin(x)) + 1

    gm = fx.symbolic_trace(Net())
    matches = fx.replace_pattern(gm, Pattern(), New())
    return len(matches), gm, sorted(n for n, _ in gm.named_modules()), gm(lib.ones(1, 3))


@program
def patterns_with_filters(lib):
    fx = fx_of(lib)
    rewriter = fx_of(lib, "subgraph_rewriter")
    gm = fx.symbolic_trace(lambda x: (x + 1).relu() + (x + 2).relu())
    made = rewriter.replace_pattern_with_filters(
        gm,
        lambda x, y: (x + y).relu(),
        lambda x, y: x * y,
        match_filters=[
            lambda match, original, pattern: any(2 in n.args for n in match.nodes_map.values() if hasattr(n, "args"))
        ],
    )
    other = fx.symbolic_trace(lambda x: (x + 1).relu() + (x + 2).relu())
    more = rewriter.replace_pattern_with_filters(
        other, lambda x: (x + 7).relu(), lambda x: x.neg(), ignore_literals=True
    )
    return [str(m.replacements) for m in made], gm, len(more), other


@program
def matchers_of_subgraphs(lib):
    fx = fx_of(lib)
    M = fx_of(lib, "passes.utils.matcher_utils").SubgraphMatcher
    gm = fx.symbolic_trace(lambda x, y: lib.relu(x + y) * lib.relu(y + x).sum())
    pattern = fx.symbolic_trace(lambda a, b: lib.relu(a + b))
    found = M(pattern.graph, match_output=False, match_placeholder=False, remove_overlapping_matches=True).match(
        gm.graph
    )
    return [
        [
            {str(k): str(v) for k, v in m.nodes_map.items()},
            str(m.anchors),
            str(m.returning_nodes),
            str(m.placeholder_nodes),
        ]
        for m in found
    ]


# ---- passes


@program
def forms_of_values(lib):
    fx = fx_of(lib)
    gm = fx.symbolic_trace(
        lambda x: (
            x.relu().t(),
            x.split(1),
            x.shape[0],
            x.to(lib.float64),
            x[None, None].contiguous(memory_format=lib.channels_last),
        )
    )
    prop = fx_of(lib, "passes.shape_prop")
    made = prop.ShapeProp(gm).propagate(lib.ones(2, 3, requires_grad=True))
    return (
        made,
        [(n.name, str(n.meta.get("tensor_meta")), str(n.meta.get("type"))) for n in gm.graph.nodes],
        str(prop.TensorMetadata._fields),
    )


@program
def forms_of_values_that_fail(lib):
    gm = fx_of(lib).symbolic_trace(lambda x: (x + 1).view(7))
    return refused(fx_of(lib, "passes.shape_prop").ShapeProp(gm).propagate, lib.ones(2))


@program
def splits(lib):
    fx = fx_of(lib)
    split = fx_of(lib, "passes.split_module").split_module

    def f(x, y, scale=2.0):
        a = x + y
        b = a.relu() * scale
        c = lib.sigmoid(b) + a
        return {"c": c - y, "b": b}

    gm = fx.symbolic_trace(f)
    at = {n: i for i, n in enumerate(gm.graph.nodes)}
    found = []
    for choose in (lambda n: at[n] // 3, lambda n: at[n] % 2 if at[n] > 4 else 0, lambda n: 0):
        names = {}
        made = refused(split, gm, None, choose, names)
        if isinstance(made, tuple):
            found.append(made)
            continue
        found += [made, [(n, m.code) for n, m in made.named_children()], names, made(lib.ones(2), lib.ones(2))]
    return found


@program
def splits_of_modules(lib):
    fx = fx_of(lib)
    split = fx_of(lib, "passes.split_module").split_module
    net = small_net(lib)
    gm = fx.symbolic_trace(net)
    at = {n: i for i, n in enumerate(gm.graph.nodes)}
    names = {}
    made = split(gm, net, lambda n: at[n] > 3, names)
    kept = split(gm, net, lambda n: f"part{at[n] > 2}", keep_original_order=True)
    return (
        made,
        [(n, m.code, sorted(dict(m.named_modules()))) for n, m in made.named_children()],
        names,
        kept,
        made(lib.ones(1, 3)),
        sorted(made.state_dict()),
    )


@program
def marks_of_functions(lib):
    fx = fx_of(lib)

    @fx.has_side_effect
    def log(x):
        return x

    gm = fx.symbolic_trace(lambda x: x + 1)
    with gm.graph.inserting_before(gm.graph.output_node()):
        gm.graph.call_function(log, (next(iter(gm.graph.nodes)),))
    return gm.graph.eliminate_dead_code(), nodes(gm.graph)


# ---- containers, marks


@program
def containers_that_cannot_be_changed(lib):
    c = fx_of(lib, "immutable_collections")
    a, b = c.immutable_list([1, 2]), c.immutable_dict({"k": 1})
    found = [
        refused(f)
        for f in (
            lambda: a.append(1),
            lambda: a.__setitem__(0, 1),
            lambda: a.pop(),
            lambda: a.sort(),
            lambda: b.update(z=1),
            lambda: b.pop("k"),
            lambda: b.__setitem__("q", 1),
            lambda: b.setdefault("q", 1),
            lambda: a.__iadd__([1]),
            lambda: b.clear(),
        )
    ]
    return (
        found,
        repr(a),
        repr(b),
        type(copy.copy(a)).__name__,
        type(pickle.loads(pickle.dumps(a))).__name__,
        type([*a, 1]).__name__,
        a == [1, 2],
        hash(a) == hash(c.immutable_list([1, 2])),
        lib.utils._pytree.tree_map(lambda x: x + 1, [a, b]),
    )


@program
def arguments_that_are_mapped(lib):
    fx = fx_of(lib)
    g = fx.Graph()
    x, y = g.placeholder("x"), g.placeholder("y")
    n = fx.node
    tree = (x, [y, {"k": x, "z": 3}], slice(x, None, y), Point(x, 1), (), None)
    made = n.map_arg(tree, lambda a: f"<{a.name}>")
    more = n.map_aggregate(tree, lambda a: type(a).__name__)
    return (
        str(made),
        str(more),
        type(made[1]).__name__,
        type(more[1][1]).__name__,
        refused(n.map_arg, tree, 3),
        type(made[3]).__name__,
    )
