"""Programs that trace modules and functions."""

from __future__ import annotations

import copy
import math

from .programs import Point, double, fx_of, leaf_function, nodes, program, refused

# ---- modules


@program
def nested_modules(lib):
    nn = lib.nn

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.register_buffer("b", lib.ones(3))

        def forward(self, x, scale=1.0):
            return self.lin(x) * scale + self.b

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Inner() for _ in range(2)])
            self.heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Linear(3, 2)})

        def forward(self, x):
            for i, block in enumerate(self.blocks):
                x = block(x, scale=i + 0.5)
            return {k: head(x) for k, head in self.heads.items()}

    lib.manual_seed(0)
    gm = fx_of(lib).symbolic_trace(Outer())
    return gm, gm(lib.ones(1, 3)), sorted(gm.state_dict()), [n for n, _ in gm.named_modules()]


@program
def sequential_of_activations(lib):
    nn = lib.nn
    lib.manual_seed(0)
    gm = fx_of(lib).symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh(), nn.Dropout(0.0)), nn.GELU()))
    return gm, gm(lib.ones(1, 2)), str(gm)


@program
def parameters_shared_by_modules(lib):
    nn = lib.nn

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(4, 3)
            self.out = nn.Linear(3, 4, bias=False)
            self.out.weight = self.emb.weight

        def forward(self, ids):
            return self.out(self.emb(ids)) @ self.emb.weight

    lib.manual_seed(0)
    gm = fx_of(lib).symbolic_trace(Tied())
    return gm, gm(lib.tensor([1, 2])), len(list(gm.parameters()))


@program
def one_module_called_twice(lib):
    nn = lib.nn

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, x):
            return self.act(self.act(x) - 1)

    return fx_of(lib).symbolic_trace(Twice())


@program
def attributes_that_are_tensors(lib):
    class Holder(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = lib.arange(3.0)
            self.numbers = [1, 2]
            self.p = lib.nn.Parameter(lib.ones(3))

        def forward(self, x):
            return x + self.plain * self.numbers[1] + self.p.sum() + self.p.shape[0]

    gm = fx_of(lib).symbolic_trace(Holder())
    return gm, gm(lib.ones(3))


@program
def kinds_of_annotations(lib):
    def f(x: lib.Tensor, n: int = 3, *, flag: bool = False) -> lib.Tensor:
        return x * n

    def g(x: list[int], y: dict[str, lib.Tensor], z: int | None = None) -> tuple[lib.Tensor, int]:
        return y["a"], x[0]

    return fx_of(lib).symbolic_trace(f), fx_of(lib).symbolic_trace(g)


@program
def annotations_of_typing(lib):
    from typing import Dict, List, Tuple  # noqa: UP035

    def f(x: List[lib.Tensor], y: int | None = None, z: Dict[str, lib.Tensor] = None) -> Tuple[lib.Tensor, ...]:  # noqa: UP006, RUF013
        return (x[0], x[1])

    gm = fx_of(lib).symbolic_trace(f)
    return gm, gm([lib.ones(1), lib.zeros(1)])


@program
def training_and_evaluation(lib):
    net = lib.nn.Sequential(lib.nn.Dropout(0.5), lib.nn.BatchNorm1d(2))
    gm = fx_of(lib).symbolic_trace(net.eval())
    found = [gm.training, gm(lib.ones(2, 2))]
    gm.train()
    return *found, [m.training for m in gm.modules()]


@program
def named_tuples(lib):
    def f(x):
        p = Point(x + 1, x * 2)
        return Point(p.x, p.y.sum())

    gm = fx_of(lib).symbolic_trace(f)
    return nodes(gm.graph), gm(lib.ones(2))


@program
def modules_within_functions(lib):
    lin = lib.nn.Linear(2, 2)
    return refused(fx_of(lib).symbolic_trace, lambda x: lin(x))


@program
def parameters_within_functions(lib):
    p = lib.nn.Parameter(lib.ones(2))
    return refused(fx_of(lib).symbolic_trace, lambda x: p + x)


@program
def what_is_no_program(lib):
    return [refused(fx_of(lib).symbolic_trace, f) for f in (3, "x", math.sin, len)]


@program
def partial_functions(lib):
    import functools

    return refused(fx_of(lib).symbolic_trace, functools.partial(lambda x, y: x + y, y=2))


@program
def bound_methods(lib):
    class Box:
        def run(self, x):
            return x + 1

    return refused(fx_of(lib).symbolic_trace, Box().run)


@program
def decorated_functions(lib):
    import functools

    def logged(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs) * 2

        return inner

    @logged
    def f(x, y=1):
        return x + y

    gm = fx_of(lib).symbolic_trace(f)
    return gm, gm(lib.ones(1))


# ---- tracers


@program
def tracers_with_leaves_by_name(lib):
    fx, nn = fx_of(lib), lib.nn

    class T(fx.Tracer):
        def is_leaf_module(self, m, qualname):
            return qualname == "1" or super().is_leaf_module(m, qualname)

    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 2)))
    graph = T().trace(net)
    return nodes(graph), str(graph), fx.GraphModule(net, graph).code


@program
def tracers_that_change_calls_of_modules(lib):
    fx, nn = fx_of(lib), lib.nn
    seen = []

    class T(fx.Tracer):
        def call_module(self, m, forward, args, kwargs):
            seen.append((self.path_of_module(m), type(m).__name__, len(args), sorted(kwargs)))
            return super().call_module(m, forward, args, kwargs)

    graph = T().trace(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU())))
    return seen, nodes(graph)


@program
def tracers_that_make_names(lib):
    fx = fx_of(lib)

    class T(fx.Tracer):
        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
            proxy = super().create_proxy(kind, target, args, kwargs, f"my_{kind}", type_expr, proxy_factory_fn)
            proxy.node.meta["seen"] = True
            return proxy

    graph = T().trace(lambda x: lib.relu(x) + x.neg())
    return nodes(graph), [n.meta.get("seen") for n in graph.nodes]


@program
def tracers_with_proxies_of_their_own(lib):
    fx = fx_of(lib)

    class Mine(fx.Proxy):
        def __len__(self):
            return 4

        def __bool__(self):
            return True

    class T(fx.Tracer):
        def proxy(self, node):
            return Mine(node, self)

    graph = T().trace(lambda x: x + len(x) if x else x)
    return nodes(graph)


@program
def tracers_that_answer_truth(lib):
    fx = fx_of(lib)

    class T(fx.Tracer):
        def to_bool(self, obj):
            return False

        def iter(self, obj):
            return iter([obj[0], obj[1]])

        def keys(self, obj):
            return ["a", "b"]

    graph = T().trace(lambda x, y, z: (x if x > 0 else -x, [r + 1 for r in y], dict(**z)))
    return nodes(graph)


@program
def wrapped_functions_by_autowrap(lib):
    fx = fx_of(lib)
    graph = fx.Tracer(autowrap_functions=(leaf_function,)).trace(lambda x: leaf_function(x, b=0) + math.sqrt(x.size(0)))
    return nodes(graph), str(graph)


@program
def mathematics_of_proxies(lib):
    gm = fx_of(lib).symbolic_trace(lambda x: x * math.floor(math.sqrt(x.shape[0])) + math.pi)
    return gm, gm(lib.ones(4))


@program
def shapes_of_parameters_that_are_constant(lib):
    fx = fx_of(lib)

    class M(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = lib.nn.Parameter(lib.ones(2, 3))

        def forward(self, x):
            return x + self.w if self.w.shape[0] == 2 and self.w.dim() == 2 and self.w.numel() == 6 else x

    return nodes(fx.Tracer(param_shapes_constant=True).trace(M())), refused(fx.symbolic_trace, M())


@program
def buffers_as_proxies(lib):
    fx = fx_of(lib)

    class T(fx.Tracer):
        proxy_buffer_attributes = True

    class M(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", lib.ones(2))

        def forward(self, x):
            return self.b.relu() + x

    return nodes(T().trace(M())), nodes(fx.symbolic_trace(M()).graph)


@program
def other_methods_than_forward(lib):
    fx = fx_of(lib)

    class T(fx.Tracer):
        traced_func_name = "encode"

    class M(lib.nn.Module):
        def encode(self, x):
            return x + 1

    class N(lib.nn.Module):
        pass

    return nodes(T().trace(M())), refused(T().trace, N())


@program
def classes_whose_instances_become_nodes(lib):
    fx = fx_of(lib)

    class Pair(metaclass=fx.ProxyableClassMeta):
        def __init__(self, left, right):
            self.left, self.right = left, right

        def add(self):
            return self.left + self.right

    graph = fx.Tracer().trace(lambda x, y: Pair(x, y * 2).add())
    return nodes(graph), str(graph)[:120]


@program
def values_that_say_what_they_are_as_arguments(lib):
    class Box:
        def __init__(self, x):
            self.x = x

        def __fx_create_arg__(self, tracer):
            return tracer.create_node("call_function", double, (tracer.create_arg(self.x),), {})

    return nodes(fx_of(lib).symbolic_trace(lambda x: lib.relu(Box(x)) if False else lib.cat([x, x])).graph)


@program
def values_that_cannot_be_arguments(lib):
    class Odd:
        pass

    return [
        refused(fx_of(lib).symbolic_trace, f) for f in (lambda x: x + Odd(), lambda x: {x: 1}, lambda x: (x, {1, 2}))
    ]


# ---- what is not possible


@program
def control_flow(lib):
    def loop(x):
        while x.sum() > 0:
            x = x - 1
        return x

    def ternary(x, y):
        return x if y else -x

    def both(x):
        return x > 0 and x < 1

    def sort(x):
        return sorted(x)

    def keyed(x):
        return f(**x)

    def f(**k):
        return k

    def indexed(x):
        return [1, 2, 3][x]

    def contains(x):
        return 3 in x

    def total(x):
        return sum(x)

    def shape(x):
        a, b = x.shape
        return x.view(b, a)

    def shape3(x):
        a, *_b = x.shape
        return a

    def strings(x):
        return f"{x}"

    def formats(x):
        return f"{x:.2f}"

    def hashes(x):
        return {x.shape: 1}

    def complexes(x):
        return complex(x)

    def rounds(x):
        return round(x)

    def ranged(x):
        return [i for i in range(x.size(0))]

    def device(x):
        return x if x.is_cuda else x.cpu()

    def types(x):
        return isinstance(x, lib.Tensor)

    def chained(x):
        return all(x > 0)

    def sets(x):
        x[0] = 1
        return x

    def deletes(x):
        del x[0]
        return x

    def attributes(x):
        x.grad = None
        return x

    def zips(x, y):
        return [a + b for a, b in zip(x, y, strict=False)]

    def star(x):
        return lib.cat([*x])

    def enumerates(x):
        return [i for i, _ in enumerate(x)]

    made = []
    for f in (
        loop,
        ternary,
        both,
        sort,
        keyed,
        indexed,
        contains,
        total,
        shape,
        shape3,
        strings,
        formats,
        hashes,
        complexes,
        rounds,
        ranged,
        device,
        types,
        chained,
        sets,
        deletes,
        attributes,
        zips,
        star,
        enumerates,
    ):
        found = refused(fx_of(lib).symbolic_trace, f)
        made.append((f.__name__, found if isinstance(found, tuple) else found.code))
    return made


@program
def wrapping_within_functions(lib):
    wrap = fx_of(lib).wrap
    return refused(wrap, "len"), refused(wrap, 3)


@program
def what_fails_while_a_module_runs(lib):
    gm = fx_of(lib).symbolic_trace(lambda x: (x + 1).view(7))
    return (
        refused(gm, lib.ones(2)),
        refused(fx_of(lib).Interpreter(gm).run, lib.ones(2)),
        refused(gm),
        refused(gm, 1, 2, 3),
    )


@program
def containers_of_proxies(lib):
    def f(x, y):
        d = {"a": x, "b": [y, (x, y)]}
        return d["b"][1][0] + d["a"], [*d["b"]], d, slice(x, None), x[d["b"][0] :]

    return fx_of(lib).symbolic_trace(f)


# ---- concrete arguments


@program
def concrete_arguments(lib):
    fx = fx_of(lib)

    def f(x, mode, scale=2.0, *, extra=None):
        x = x * scale if mode == "up" else x / scale
        return x if extra is None else x + extra

    made = [
        fx.symbolic_trace(f, concrete_args=c)
        for c in ({"mode": "up"}, {"mode": "down", "scale": 4.0}, {"mode": "up", "extra": None})
    ]
    return made, refused(made[0], lib.ones(1), "up"), refused(made[0], lib.ones(1), "down")


@program
def concrete_arguments_of_modules(lib):
    fx = fx_of(lib)

    class M(lib.nn.Module):
        def forward(self, x, return_dict=True, mask=None):
            y = x + 1
            if mask is not None:
                y = y * mask
            return {"y": y} if return_dict else (y,)

    gm = fx.symbolic_trace(M(), concrete_args={"return_dict": False, "mask": None})
    return gm, refused(gm, lib.ones(1), False, None), refused(gm, lib.ones(1), True, None), refused(gm, lib.ones(1))


@program
def concrete_arguments_as_a_tuple(lib):
    fx = fx_of(lib)
    made = fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, concrete_args=(fx.PH, True))
    return made, refused(fx.symbolic_trace, lambda x, flag: x, concrete_args=(fx.PH,))


@program
def concrete_containers(lib):
    fx = fx_of(lib)
    gm = fx.symbolic_trace(
        lambda pair, d, z: {"s": pair[0] + d["k"], "n": [pair[1] * z]},
        concrete_args={"pair": (fx.PH, fx.PH), "d": {"k": fx.PH, "f": True}, "z": 2},
    )
    given = (lib.ones(1), lib.zeros(1)), {"k": lib.ones(1), "f": True}, 2
    return gm, gm(*given), fx.Interpreter(gm).run(*given), nodes(gm.graph), gm.code == copy.deepcopy(gm).code
