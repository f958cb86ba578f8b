"""Programs that make and change graphs."""

from __future__ import annotations

import copy
import math
import operator

from .programs import Point, double, fx_of, nodes, program, refused

# ---- graphs by hand


def small(lib):
    """A graph of four nodes."""
    g = fx_of(lib).Graph()
    x = g.placeholder("x")
    a = g.call_function(lib.relu, (x,))
    b = g.call_method("add", (a, 1), {"alpha": 2})
    g.output(b)
    return g, x, a, b


@program
def every_kind_of_node(lib):
    fx = fx_of(lib)

    class M(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = lib.nn.Parameter(lib.ones(2))
            self.inner = lib.nn.Sequential(lib.nn.Linear(2, 2))

    lib.manual_seed(0)
    g = fx.Graph()
    x = g.placeholder("x", type_expr=lib.Tensor)
    y = g.placeholder("y", default_value=3)
    z = g.placeholder("*rest")
    k = g.placeholder("**more")
    w = g.get_attr("w")
    lin = g.call_module("inner.0", (x,))
    t = g.call_method("clamp", (lin,), {"min": 0})
    f = g.call_function(lib.add, (t, w), {"alpha": y}, type_expr=lib.Tensor)
    s = g.call_function(operator.setitem, (f, 0, 1.0))
    i = g.call_function(operator.iadd, (f, 1))
    h = g.call_function(getattr, (x, "shape"))
    e = g.call_function(getattr, (x, "no-identifier"))
    g.output((i, {"h": h, "z": z, "k": k}))
    for n in (s, e):
        g.erase_node(n) if n is e else None
    gm = fx.GraphModule(M(), g, "Mine")
    return gm, gm(lib.ones(1, 2), 2, 5, q=6), str(gm), gm.graph.python_code("self").src


@program
def names_of_nodes(lib):
    g = fx_of(lib).Graph()
    made = [
        g.create_node("placeholder", t).name
        for t in (
            "x",
            "x",
            "x_1",
            "x_5",
            "x_5",
            "1a",
            "a.b-c",
            "class",
            "len",
            "input",
            "self",
            "torch",
            "_",
            "None",
            "x__2",
            "sum_0",
        )
    ]
    made += [
        g.call_function(f, ()).name
        for f in (lib.relu, operator.add, lib.nn.functional.relu, lib.Tensor.add, print, math.sqrt, lib.add, lambda: 1)
    ]
    made += [g.call_method(m, ()).name for m in ("__add__", "size", "__getitem__", "toBool", "T")]
    made += [g.call_module(m).name for m in ("layers.0.convBN", "LayerNorm")]
    return made + [g.create_node("call_method", "abs", name=n).name for n in ("mine", "mine", "mine_1", "my thing")]


@program
def insertion_points(lib):
    g, x, a, b = small(lib)
    with g.inserting_before(a):
        g.call_method("one", (x,))
        g.call_method("two", (x,))
    with g.inserting_after(a):
        g.call_method("three", (a,))
        g.call_method("four", (a,))
    with g.inserting_before():
        g.placeholder("first")
    with g.inserting_after():
        g.call_method("last", (b,))
    other = fx_of(lib).Graph().placeholder("o")
    return nodes(g), refused(g.inserting_before, other), refused(g.inserting_after, other), refused(g.lint)


@program
def moving_nodes(lib):
    g, x, a, b = small(lib)
    c = g.call_function(lib.neg, (x,))
    a.prepend(c)
    first = [n.name for n in g.nodes]
    a.append(c)
    second = [n.name for n in g.nodes], [n.name for n in reversed(g.nodes)], a < b, c > a, a.next.name, a.prev.name
    a.prepend(a)
    other = fx_of(lib).Graph().placeholder("o")
    return first, second, refused(a.prepend, other), refused(a.append, other), refused(g.lint), len(g.nodes)


@program
def erasing_nodes(lib):
    g, x, a, _b = small(lib)
    found = [refused(g.erase_node, a)]
    other = fx_of(lib).Graph()
    found.append(refused(g.erase_node, other.placeholder("o")))
    c = g.call_function(lib.neg, (x,))
    g.erase_node(c)
    found += [c._erased, len(x.users), c.args, refused(g.erase_node, c), len(g.nodes)]
    last = g.output_node()
    last.args = (c,)
    found.append(refused(g.lint))
    return found


@program
def lint_of_wrong_graphs(lib):
    fx = fx_of(lib)
    _g, _x, _a, _b = small(lib)
    found = []
    m = lib.nn.Module()
    m.lin = lib.nn.Linear(1, 1)
    m.number = 3
    for op, target in (
        ("call_module", "nope"),
        ("call_module", "lin.nope"),
        ("call_module", "number"),
        ("get_attr", "lin.none"),
        ("get_attr", "lin.weight"),
        ("get_attr", "number"),
        ("call_module", "lin.weight"),
        ("get_attr", "lin"),
    ):
        graph = fx.Graph(owning_module=m)
        graph.output(graph.create_node(op, target))
        found.append((refused(graph.lint), refused(lambda graph=graph: fx.GraphModule(m, graph).code)))
    same = fx.Graph()
    _one, two = same.placeholder("x"), same.placeholder("y")
    two.name = "x"
    return *found, refused(same.lint)


@program
def roots_of_graph_modules(lib):
    fx = fx_of(lib)
    g = fx.Graph()
    x = g.placeholder("x")
    g.output(g.call_module("a.b", (x,)))
    return (
        refused(fx.GraphModule, {}, g),
        refused(fx.GraphModule, 3, g),
        refused(fx.GraphModule, lib.nn.Module(), g),
        refused(fx.GraphModule, lib.nn.Module(), "g"),
        [n for n, _ in fx.GraphModule({"a.b": lib.nn.ReLU()}, g).named_modules()],
    )


@program
def copies_of_graphs(lib):
    fx = fx_of(lib)
    g, _x, a, b = small(lib)
    a.meta["k"] = [1]
    new = fx.Graph()
    env = {}
    out = new.graph_copy(g, env)
    new.output((out, out))
    deep = copy.deepcopy(g)
    known = {n.name: n.meta for n in deep.nodes}
    again = fx.Graph()
    m = {n: again.node_copy(n, lambda n: m[n]) for n in ()}
    y = again.placeholder("y")
    z = again.node_copy(a, lambda n: y)
    return (
        nodes(new),
        nodes(deep),
        known,
        z.args,
        z.meta,
        z.name,
        refused(again.node_copy, b),
        [n.name for n in again.nodes],
    )


@program
def replaced_uses(lib):
    g, x, a, b = small(lib)
    c = g.call_function(lib.neg, (a,))
    changed = a.replace_all_uses_with(x)
    found = [str(changed), nodes(g), str(a.users), str(x.users)]
    b.replace_input_with(x, c)
    found += [nodes(g), refused(g.lint)]
    a.meta["q"] = 1
    found.append(refused(a.replace_all_uses_with, x, propagate_meta=True))
    x.meta["z"] = 1
    return *found, refused(a.replace_all_uses_with, x, propagate_meta=True), refused(a.replace_all_uses_with, 3)


@program
def changed_arguments(lib):
    g, x, a, b = small(lib)
    y = g.placeholder("y")
    b.insert_arg(1, y)
    b.insert_arg(0, a)
    b.update_arg(2, (y, [x]))
    b.update_kwarg("alpha", x)
    found = [
        b.args,
        b.kwargs,
        b.all_input_nodes,
        str(x.users),
        refused(b.insert_arg, 9, x),
        refused(b.update_arg, 9, x),
    ]
    b.args = (a,)
    b.kwargs = {"k": {"z": [a, slice(x, None, 2)]}}
    found += [
        b.all_input_nodes,
        str(a.users),
        refused(lambda: b.args.append(1)),
        type(b.args).__name__,
        type(b.kwargs).__name__,
    ]
    found.append(
        [
            refused(lambda: b.kwargs["k"].update(z=1)),
            refused(b.kwargs.__setitem__, "q", 1),
            refused(b.kwargs["k"]["z"].append, 1),
        ]
    )
    return [str(f) for f in found]


@program
def dead_code(lib):
    fx = fx_of(lib)

    def f(x, unused):
        x.add_(1)
        lib._assert(x.sum() > 0, "no")
        y = x * 2
        lib.rand(2)
        lib.dropout(x, 0.5, True)
        y += 1
        y.neg()
        lib.relu(y)
        return y

    gm = fx.symbolic_trace(f)
    found = [n.is_impure() for n in gm.graph.nodes]
    changed = gm.graph.eliminate_dead_code()
    return (
        found,
        changed,
        gm,
        gm.graph.eliminate_dead_code(),
        gm.graph.eliminate_dead_code(is_impure_node=lambda n: n.op in ("placeholder", "output")),
    )


@program
def dead_modules(lib):
    fx, nn = fx_of(lib), lib.nn

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(2, 2), nn.ReLU(), nn.Sequential(nn.Tanh(), nn.GELU())

        def forward(self, x):
            self.a(x)
            return self.c[0](x)

    gm = fx.symbolic_trace(M())
    found = [n for n, _ in gm.named_modules()], gm.graph.eliminate_dead_code(), [n for n, _ in gm.named_modules()]
    gm.delete_all_unused_submodules()
    return (
        *found,
        [n for n, _ in gm.named_modules()],
        gm.add_submodule("q.r.s", nn.ReLU()),
        gm.add_submodule("c.z", nn.ReLU()),
        gm.delete_submodule("q.r"),
        gm.delete_submodule("zz"),
        [n for n, _ in gm.named_modules()],
    )


@program
def found_nodes(lib):
    gm = fx_of(lib).symbolic_trace(lambda x, y: lib.relu(x).relu() + lib.relu(y).abs() + 1)
    g = gm.graph
    return [
        str(g.find_nodes(op="call_function", target=lib.relu)),
        str(g.find_nodes(op="call_method", target="relu")),
        str(g.find_nodes(op="placeholder")),
        str(g.find_nodes(op="call_function")),
        str(g.find_nodes(op="output")),
        str(g.output_node()),
        str(g.find_nodes(op="call_module")),
        str(g.find_nodes(op="call_function", target=operator.add, sort=False)),
        str(g.find_nodes(op="placeholder", target="y")),
    ]


@program
def lines_of_nodes(lib):
    g, _x, a, b = small(lib)
    y = g.placeholder("y", type_expr=int, default_value=3)
    b.type = lib.Tensor
    t: list[str] = []
    names: list[str] = []
    return (
        [n.format_node() for n in g.nodes],
        [n.format_node(names, t) for n in g.nodes],
        names,
        t,
        str(g),
        y.format_node(),
        repr(a),
        str(a.target == lib.relu),
    )


@program
def values_in_code(lib):
    g = fx_of(lib).Graph()
    x = g.placeholder("x")
    args = (
        x,
        1.5,
        float("inf"),
        float("-inf"),
        float("nan"),
        1 + 2j,
        True,
        None,
        ...,
        "a'b\"c",
        lib.float32,
        lib.device("cpu"),
        lib.strided,
        lib.channels_last,
        slice(None, 2),
        slice(x, x, 1),
        (1,),
        (),
        [],
        [x],
        {},
        {"k": x},
        range(3),
        b"q",
        lib.Size([1, 2]),
        Point(x, 1),
        lib.device("cuda", 1),
    )
    made = []
    for arg in args:
        found = refused(g.call_function, lib.relu, (arg,))
        made.append(found if isinstance(found, tuple) else str(found.args))
    g.output(x)
    code = refused(lambda: fx_of(lib).GraphModule({}, g).code)
    return made, code


@program
def functions_in_code(lib):
    F = lib.nn.functional
    g = fx_of(lib).Graph()
    x = g.placeholder("x")
    for f in (
        lib.relu,
        F.relu,
        F.conv2d,
        F.linear,
        F.pad,
        F.layer_norm,
        F.interpolate,
        lib.nn.init.zeros_,
        lib.linalg.norm,
        lib.fft.fft,
        lib.ops.aten.add.Tensor,
        lib.ops.aten.relu.default,
        lib.ops.aten.mm,
        math.sqrt,
        operator.getitem,
        operator.neg,
        operator.not_,
        operator.contains,
        operator.itruediv,
        operator.ior,
        len,
        isinstance,
        print,
        max,
        lib.cat,
        lib.stack,
        lib.einsum,
        lib._assert,
        lib.sigmoid,
        lib.zeros,
        lib.utils.checkpoint.checkpoint,
        lib.norm,
        lib.split,
        double,
        copy.copy,
        Point,
        lib.autograd.grad,
        lib.nn.functional.softmax,
        lib.softmax,
        lib.conv2d,
        lib.dropout,
        lib.nn.functional.dropout,
        lib.max_pool2d,
        F.max_pool2d,
        F.avg_pool2d,
        F.embedding,
        lib.is_tensor,
        lib.clone,
        lib.tensor,
        lib.finfo,
        lib.Size,
        lib.from_numpy,
        lib.arange,
        lib.nn.functional.gelu,
        lib.nn.functional.one_hot,
    ):
        g.call_function(f, (x, x))
    g.output(x)
    return str(g), refused(lambda: fx_of(lib).GraphModule({}, g).code)


@program
def tables_with_rows_of_all_kinds(lib):
    g, x, a, b = small(lib)
    g.call_function(lib.nn.functional.linear, (x, [a, {"b": b}]), {"bias": None})
    return fx_of(lib).GraphModule({}, g)


@program
def code_that_is_changed_as_it_is_made(lib):
    gm = fx_of(lib).symbolic_trace(lambda x: lib.relu(x) + 1)

    def wrapped(former):
        def change(body):
            body = former(body) if former else body
            return ["print_me = 1\n", *body]

        return change

    with gm.graph.on_generate_code(wrapped):
        gm.recompile()
        inside = gm.code
    gm.recompile()
    return inside, gm.code


@program
def code_by_generators_of_ones_own(lib):
    fx = fx_of(lib)

    class Listed(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, args_list){maybe_return_annotation}:\n    {', '.join(free_vars)} = args_list"

        def additional_globals(self):
            return [("List", list)]

        def process_inputs(self, *inputs):
            return inputs[0]

        def generate_output(self, output_args, **_):
            return f"return [{output_args!r}]"

    gm = fx.symbolic_trace(lambda a, b: a * b)
    gm.graph.set_codegen(Listed())
    gm.recompile()
    given = [lib.ones(1), lib.full((1,), 2.0)]
    return gm.code, gm(given), fx.Interpreter(gm).run(given)


@program
def readable_modules(lib):
    fx, nn = fx_of(lib), lib.nn
    gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    outer = nn.Module()
    outer.part = gm
    g = fx.Graph()
    g.output(g.call_module("part", (g.placeholder("x"),)))
    whole = fx.GraphModule(outer, g)
    return (
        gm.print_readable(print_output=False),
        whole.print_readable(print_output=False),
        str(whole),
        repr(whole),
        whole.extra_repr(),
    )
