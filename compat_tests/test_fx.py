"""`torch.fx`: the graphs of traced programs, their code, what they give, and what is said of what cannot be traced."""

from __future__ import annotations

import copy
import importlib.util
import operator
import pickle
import re
import typing

import pytest

import torchlite

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])


def fx_of(lib, name="fx"):
    return importlib.import_module(f"{lib.__name__}.{name}")


def net(lib):
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
            self.scale = nn.Parameter(lib.full((width,), 0.5))
            self.register_buffer("shift", lib.ones(width))

        def forward(self, input, factor=2.0):
            made = self.layers(input) * self.scale + self.shift
            return {"sum": made.sum(dim=1, keepdim=True), "parts": [made[:, 0], (made * factor).t()]}

    lib.manual_seed(0)
    return Block(3)


FUNCTIONS = {
    "arithmetic": lambda lib, F: lambda x: ((x + 1) * 2 - x / 3 + 1 - x**2) @ x.t() // 2 % 3,
    "comparisons": lambda lib, F: lambda x: (x > 0) & (x <= 2) | ~(x == 1) ^ (x != 0),
    "indices": lambda lib, F: lambda x: (x[0], x[:, 1:], x[..., None], x[None, 0, ::2]),
    "attributes": lambda lib, F: lambda x: lib.ones((x.shape[0], 3), device=x.device, dtype=x.dtype) + x.T.T,
    "methods": lambda lib, F: lambda x: x.relu().view(-1).sum(dim=0, keepdim=True).float().clone(),
    "functions": lambda lib, F: lambda x: lib.cat([lib.relu(x), lib.sigmoid(x)], dim=1).mean(),
    "functional": lambda lib, F: lambda x: F.softmax(F.dropout(F.relu(x), 0.0), dim=-1),
    "compiled functional": lambda lib, F: lambda x: F.gelu(F.linear(x, x)) + F.softplus(x @ x.t()),
    "layers of functional": lambda lib, F: lambda x: F.layer_norm(F.leaky_relu(x, 0.1), (3,)) + F.hardtanh(x),
    "lists": lambda lib, F: lambda x: lib.stack([x, x + 1, *[x * i for i in range(2)]]),
    "nested results": lambda lib, F: lambda x: {"a": (x, [x + 1]), "b": {"c": None, "d": 1.5}},
    "names that are taken": lambda lib, F: lambda input, sum=1: lib.max(input, 1)[0].abs() + abs(sum),
    "defaults": lambda lib, F: lambda x, y=3, *, z=None: x * y,
    "rest arguments": lambda lib, F: lambda x, *args, **kwargs: (x, args, kwargs),
    "unpacking": lambda lib, F: lambda x: (lambda pair: pair[0] + pair[1])(x.split(1)),
    "results that nobody uses": lambda lib, F: lambda x: (lib.add(x, 1), x * 2)[1],
    "constants": lambda lib, F: lambda x: x.masked_fill(x > 0, float("inf")).to(lib.float16),
    "tensors of the program": lambda lib, F: lambda x: x + lib.ones(3),
    "slices of proxies": lambda lib, F: lambda x: x[: x.size(0) - 1, 0 : x.shape[1]],
    "reflected": lambda lib, F: lambda x: (1 + x, 2 - x, 3 * x, 1 / (x + 9), 2**x, x + x),
    "in place": lambda lib, F: lambda x: x.clone().add_(1).mul_(2),
    "einsum": lambda lib, F: lambda x: lib.einsum("ij,kj->ik", x, x),
    "pooling": lambda lib, F: lambda x: F.max_pool1d(x[None], 2) + F.avg_pool1d(x[None], 2),
    "normalising": lambda lib, F: lambda x: F.batch_norm(x, None, None, training=True),
    "embedding": lambda lib, F: lambda x: F.embedding(lib.arange(2), x),
    "losses": lambda lib, F: lambda x: F.mse_loss(x, x) + F.cross_entropy(x, x.argmax(1)),
    "padding": lambda lib, F: lambda x: F.pad(x, (1, 2), value=3.0),
    "interpolating": lambda lib, F: lambda x: F.interpolate(x[None], scale_factor=2.0),
    "choices": lambda lib, F: lambda x: lib.where(x > 0, x, -x).clamp(min=-1, max=1),
    "reductions": lambda lib, F: lambda x: (
        (x.sum(), x.mean(0), x.max(dim=1).values, x.std(1, unbiased=False), x.var(0))
    ),
    "order": lambda lib, F: lambda x: (x.sort(dim=1)[0], lib.topk(x, 2)[1], x.argsort(1)),
    "scattering": lambda lib, F: lambda x: lib.zeros(2, 3).scatter(1, x.argmax(1, keepdim=True), 1.0),
    "gathering": lambda lib, F: lambda x: x.gather(1, x.argsort(1)),
    "chunks": lambda lib, F: lambda x: lib.chunk(x, 2)[1] + x.unbind(0)[0],
    "matrix products": lambda lib, F: lambda x: lib.matmul(x, x.T) @ x,
    "batches of products": lambda lib, F: lambda x: lib.bmm(x[None], x.t()[None]).squeeze(0),
    "convolution": lambda lib, F: lambda x: F.conv1d(x[None], lib.ones(2, 2, 2)),
    "attention": lambda lib, F: lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "dropout": lambda lib, F: lambda x: F.dropout(x, 0.5, training=False),
    "one-hot vectors": lambda lib, F: lambda x: F.one_hot(x.argmax(1), 3),
    "unfolding": lambda lib, F: lambda x: F.unfold(x[None, None], (1, 2)),
    "scans": lambda lib, F: lambda x: x.cumsum(0).cumprod(1).flip(1).roll(1, 0),
    "tensor products": lambda lib, F: lambda x: lib.tensordot(x, x, dims=([1], [1])),
    "splitting": lambda lib, F: lambda x: lib.split(x, 1)[0],
    "distances": lambda lib, F: lambda x: lib.cdist(x, x),
    "sets": lambda lib, F: lambda x: lib.unique(x),
    "grids": lambda lib, F: lambda x: lib.meshgrid(x[0], x[1], indexing="ij"),
    "tensors like others": lambda lib, F: lambda x: lib.zeros_like(x) + lib.full_like(x, 2.0) + x.new_ones(2, 3),
    "arithmetic of shapes": lambda lib, F: lambda x: x.reshape(x.shape[0] * x.shape[1]).view(x.size(1), -1),
    "numbers of dimensions": lambda lib, F: lambda x: x.sum(x.ndim - 1) + x.dim(),
    "getattr": lambda lib, F: lambda x: x.T.requires_grad,
    "conversions": lambda lib, F: lambda x: x.to(lib.float64).to(device="cpu", dtype=lib.float32).type(lib.float16),
    "keywords alone": lambda lib, F: lambda x, *, scale=2.0: x * scale,
    "nested tuples": lambda lib, F: lambda x: (x, (x, [x, {"k": x}])),
    "slices": lambda lib, F: lambda x: x[slice(None), slice(0, 2)][..., -1],
    "truth values": lambda lib, F: lambda x: lib.logical_and(x > 0, x < 1).any().logical_not(),
    "activations": lambda lib, F: lambda x: (
        F.silu(x) + F.elu(x) + F.selu(x) + F.mish(x) + F.hardswish(x) + F.logsigmoid(x) + F.tanhshrink(x)
    ),
    "resizing": lambda lib, F: lambda x: (
        F.interpolate(x[None, None], size=(4, 4), mode="bilinear", align_corners=False)
    ),
    "sampling": lambda lib, F: lambda x: F.grid_sample(x[None, None], lib.zeros(1, 2, 2, 2), align_corners=False),
    "adaptive pooling": lambda lib, F: lambda x: (
        F.adaptive_avg_pool1d(x[None], 2) + F.adaptive_max_pool1d(x[None], 2) + F.lp_pool1d(x[None], 2.0, 2)
    ),
    "layers in place": lambda lib, F: lambda x: F.relu(x.clone(), inplace=True).add_(1),
    "bits": lambda lib, F: lambda x: x.int() << 1 | x.int() >> 1 & 3 ^ 1,
    "powers": lambda lib, F: lambda x: x ** 2 + 2 ** x + abs(x) - -x + +x,
    "what is reflected and whole": lambda lib, F: lambda x: 2 // (x + 9) + 2 % (x + 9) + (lib.ones(3, 2) @ x).sum(),
}  # fmt: skip
ERRORS = {
    "a condition": lambda lib, F: lambda x: x if x.sum() > 0 else -x,
    "a loop": lambda lib, F: lambda x: [row for row in x],
    "its length": lambda lib, F: lambda x: len(x),
    "not": lambda lib, F: lambda x: not x,
    "membership": lambda lib, F: lambda x: x in [1, 2],
    "int": lambda lib, F: lambda x: int(x),
    "range": lambda lib, F: lambda x: range(x),
    "a float": lambda lib, F: lambda x: float(x),
    "keywords": lambda lib, F: lambda x: dict(**x),
    "a set": lambda lib, F: lambda x: {*x},
    "a chain of comparisons": lambda lib, F: lambda x: 0 < x < 1,
    "what a list holds": lambda lib, F: lambda x: 1 in x,
    "an index": lambda lib, F: lambda x: [1, 2][x],
}
CONCRETE = {
    "containers": (
        lambda inp, inp2: inp["a"] + inp["z"][0] + inp2[0]["b"] + inp2[1],
        lambda PH: {"inp": {"a": PH, "z": [PH, True]}, "inp2": [{"b": PH}, PH]},
        lambda o: ({"a": o, "z": [o, True]}, [{"b": o}, o]),
    ),
    "nested results": (
        lambda pair: (pair[0] * 2, {"s": pair[1] + 1}), lambda PH: {"pair": (PH, PH)}, lambda o: ((o, o),),
    ),
    "a flag": (lambda x, flag: x + 1 if flag else x - 1, lambda PH: {"flag": True}, lambda o: (o, True)),
    "a default": (lambda x, flag=None: x + 1 if flag is None else x - 1, lambda PH: {"flag": None}, lambda o: (o,)),
    "a number": (lambda x, n: x.view(n, -1), lambda PH: {"n": 2}, lambda o: (o, 2)),
    "another number": (lambda x, n: x.view(n, -1), lambda PH: {"n": 2}, lambda o: (o, 3)),
}  # fmt: skip


def plain(text, lib):
    """A text without what differs between the two by nature."""
    text = text.replace("torchlite", "torch")
    return re.sub(r"<(built-in (method|function)|function) [\w.<>]+( of type object)?( at 0x\w+)?>", "<function>", text)


def values(lib, value):
    if isinstance(value, lib.Tensor):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, dict):
        return {k: values(lib, v) for k, v in value.items()}
    return [values(lib, v) for v in value] if isinstance(value, list | tuple) else value


def close(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(close, a, b))
    return a == pytest.approx(b, rel=1e-4, abs=1e-6) if isinstance(a, float) else a == b


def told(lib, program, capsys):
    module = fx_of(lib).symbolic_trace(program)
    module.graph.lint()
    table = ""
    if importlib.util.find_spec("tabulate") is not None:  # with which PyTorch prints tables
        module.graph.print_tabular()
        table = re.sub(" +|-+", " ", plain(capsys.readouterr().out, lib))
    lines = [(n.op, n.name, str(n.users), repr(n.type)) for n in module.graph.nodes]
    return module, [module.code, plain(str(module.graph), lib), table, lines]


@pytest.mark.parametrize("program", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_become_the_graphs_that_they_become_in_pytorch(program, capsys):
    found = []
    for lib in (torch, torchlite):
        function = program(lib, lib.nn.functional)
        module, text = told(lib, function, capsys)
        given = [lib.arange(6.0).reshape(2, 3) - 2]
        if "*args" in module.code:
            result = module(given[0], 1, key=2)
        else:
            result = module(*given)
        found.append((text, values(lib, result), values(lib, fx_of(lib).Interpreter(module).run(given[0]))))
    assert found[1][0] == found[0][0]
    for mine, real in zip(found[1][1:], found[0][1:], strict=True):
        assert close(mine, real)


@pytest.mark.parametrize(("program", "concrete", "given"), CONCRETE.values(), ids=CONCRETE)
def test_arguments_that_are_known_and_containers(program, concrete, given, capsys):
    found = []
    for lib in (torch, torchlite):
        fx = fx_of(lib)
        module = fx.symbolic_trace(program, concrete_args=concrete(fx.PH))
        try:
            result = values(lib, module(*given(lib.ones(4))))
            again = values(lib, fx.Interpreter(module).run(*given(lib.ones(4))))
        except Exception as error:
            result = again = type(error).__name__, str(error)
        found.append((module.code, plain(str(module.graph), lib), result, again))
    assert found[0] == found[1]


@pytest.mark.parametrize("program", ERRORS.values(), ids=ERRORS)
def test_what_cannot_be_traced_is_refused_in_pytorchs_words(program):
    errors = []
    for lib in (torch, torchlite):
        with pytest.raises(Exception) as raised:
            fx_of(lib).symbolic_trace(program(lib, lib.nn.functional))
        errors.append((type(raised.value).__name__, str(raised.value)))
    assert errors[0] == errors[1]


def test_modules_become_graphs_of_their_parts(capsys):
    texts = []
    for lib in (torch, torchlite):
        module, text = told(lib, net(lib), capsys)
        assert str(module).startswith("Block(")
        texts.append([*text, plain(str(module), lib), sorted(module.state_dict())])
        x = lib.ones(2, 3)
        assert lib.equal(module(x)["sum"], net(lib)(x)["sum"])
        again = pickle.loads(pickle.dumps(module))
        for copied in (again, copy.deepcopy(module)):
            assert lib.equal(copied(x)["sum"], module(x)["sum"])
        assert copy.deepcopy(module).code == module.code
    assert texts[0] == texts[1]


def annotated(lib):
    """A traced module whose `forward` says what its arguments are."""

    class Scaled(lib.nn.Module):
        def forward(self, x, by=2, names=None):
            return x * by

    Scaled.forward.__annotations__ = {"x": lib.Tensor, "by": int, "names": typing.List[str], "return": lib.Tensor}  # noqa: UP006
    return fx_of(lib).symbolic_trace(Scaled())


def test_annotations_survive_pickles():
    told = []
    for lib in (torch, torchlite):
        module = annotated(lib)
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(module))))
        assert [node.type for node in again.graph.nodes] == [node.type for node in module.graph.nodes]
        told.append(plain(again.code, lib))
    assert told[0] == told[1]


@BOTH
def test_graphs_are_changed_by_hand(lib):
    fx = fx_of(lib)
    graph = fx.Graph()
    x = graph.placeholder("x")
    one = graph.call_function(lib.relu, (x,))
    graph.output(one)
    with graph.inserting_after(one):
        two = graph.call_function(operator.add, (one, 1))
    one.replace_all_uses_with(two, delete_user_cb=lambda user: user.op == "output")
    with graph.inserting_before(one):
        unused = graph.call_method("neg", (x,))
    graph.lint()
    module = fx.GraphModule(lib.nn.Module(), graph)
    assert module(lib.tensor([-1.0, 2.0])).tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="Tried to erase Node relu but it still had 1 users in the graph"):
        graph.erase_node(one)
    assert list(x.users) == [one, unused]
    assert graph.eliminate_dead_code()
    assert [n.name for n in graph.nodes] == ["x", "relu", "add", "output"]
    assert [n.name for n in reversed(graph.nodes)] == ["output", "add", "relu", "x"]
    two.args = (one, 5)
    module.recompile()
    assert module(lib.tensor([-1.0, 2.0])).tolist() == [5, 7]
    with pytest.raises(TypeError, match="does not support mutation"):
        graph.call_function(lib.cat, ([x, x],)).args[0].append(x)


@BOTH
def test_graphs_are_checked(lib):
    fx = fx_of(lib)
    graph, other = fx.Graph(), fx.Graph()
    x = graph.placeholder("x")
    other.call_function(lib.relu, (x,))
    with pytest.raises(RuntimeError, match="does not belong to this Graph, but was used as an argument"):
        other.lint()
    first = graph.call_function(lib.relu, (x,))
    x.prepend(first)
    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        graph.lint()


@BOTH
def test_interpreters_and_transformers_are_subclassed(lib):
    fx = fx_of(lib)
    module = fx.symbolic_trace(lambda x: lib.relu(x).neg() + lib.sigmoid(x))

    class Swapped(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            return super().call_function(lib.tanh if target is lib.sigmoid else target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return args[0] if target == "neg" else super().call_method(target, args, kwargs)

    class Rewritten(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(lib.tanh if target is lib.sigmoid else target, args, kwargs)

    x = lib.tensor([1.0, -1.0])
    assert lib.allclose(Swapped(module).run(x), x.relu() + x.tanh())
    made = Rewritten(module).transform()
    assert lib.allclose(made(x), -x.relu() + x.tanh())
    assert "torch.tanh" in made.code


@BOTH
def test_tracers_say_what_stays_a_call(lib):
    fx = fx_of(lib)

    class Deep(fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, lib.nn.ReLU)

    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU())
    graph = Deep().trace(model)
    module = fx.GraphModule(model, graph)
    assert [n.op for n in graph.nodes].count("call_module") == 1
    assert {n.target for n in graph.nodes if n.op == "get_attr"} == {"0.weight", "0.bias"}
    x = lib.ones(1, 2)
    assert lib.allclose(module(x), model(x))
    traced = fx.symbolic_trace(lambda x, flag: x + 1 if flag else x - 1, concrete_args={"flag": True})
    assert traced(lib.ones(1), True).tolist() == [2]


@BOTH
def test_patterns_are_replaced(lib):
    fx = fx_of(lib)
    module = fx.symbolic_trace(lambda x, y: lib.relu(x + y) * lib.relu(y + 1).sum())
    matches = fx.replace_pattern(module, lambda a, b: lib.relu(a + b), lambda a, b: lib.tanh(a - b))
    module.graph.lint()
    assert len(matches) == 2
    assert module.code.count("torch.tanh") == 2 and "relu" not in module.code
    x, y = lib.ones(2), lib.full((2,), 3.0)
    assert lib.allclose(module(x, y), lib.tanh(x - y) * lib.tanh(y - 1).sum())


@BOTH
def test_forms_are_propagated(lib):
    module = fx_of(lib).symbolic_trace(net(lib))
    fx_of(lib, "fx.passes.shape_prop").ShapeProp(module).propagate(lib.ones(2, 3))
    found = {n.name: n.meta["tensor_meta"] for n in module.graph.nodes if "tensor_meta" in n.meta}
    assert tuple(found["mul"].shape) == (2, 3)
    assert found["mul"].dtype is lib.float32 and found["mul"].stride == (3, 1)


@BOTH
def test_modules_are_split(lib):
    module = fx_of(lib).symbolic_trace(net(lib))
    at = {n: i for i, n in enumerate(module.graph.nodes)}
    made = fx_of(lib, "fx.passes.split_module").split_module(module, None, lambda n: at[n] > 5)
    assert {name for name, _ in made.named_children()} == {"submod_False", "submod_True"}
    x = lib.ones(2, 3)
    assert lib.allclose(made(x)["sum"], module(x)["sum"])


@BOTH
def test_batch_norms_are_put_into_convolutions(lib):
    nn = lib.nn
    lib.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout()).eval()
    model[1].running_mean.uniform_()
    optimization = fx_of(lib, "fx.experimental.optimization")
    fused = optimization.remove_dropout(optimization.fuse(model))
    x = lib.ones(1, 1, 5, 5)
    assert lib.allclose(fused(x), model(x), atol=1e-6)
    assert not any(isinstance(m, nn.BatchNorm2d | nn.Dropout) for n in fused.graph.nodes if n.op == "call_module"
                   for m in [fused.get_submodule(n.target)])  # fmt: skip


def test_drawings_show_every_node():
    module = fx_of(torchlite).symbolic_trace(net(torchlite))
    drawing = fx_of(torchlite, "fx.passes.graph_drawer").FxGraphDrawer(module, "net").get_dot_graph()
    text = drawing.create_svg().decode()
    assert all(f"%{n.name} : {n.op}" in text for n in module.graph.nodes)


def test_folders_hold_modules_that_can_be_imported(tmp_path, monkeypatch):
    module = fx_of(torchlite).symbolic_trace(net(torchlite))
    module.to_folder(tmp_path / "folder_of_a_graph", "Net")
    monkeypatch.syspath_prepend(str(tmp_path))
    made = importlib.import_module("folder_of_a_graph").Net()
    x = torchlite.ones(2, 3)
    assert torchlite.equal(made(x)["sum"], module(x)["sum"])


def _step(lib, x):
    y = x.sin().tanh().sum()
    return lib.autograd.grad(y, x)[0]


OPERATIONS = {
    "functions": lambda lib: (lambda x, y: (x.sin() + y).sum(), lambda: (lib.ones(2), lib.ones(2))),
    "several results": lambda lib: (lambda a: {"k": a.split(1)[0] * 2, "z": a.max(0)}, lambda: (lib.ones(2, 2),)),
    "views": lambda lib: (lambda a: a.view(-1).t()[1:] + a[0, 0], lambda: (lib.ones(2, 2),)),
    "layers": lambda lib: (lib.nn.Linear(2, 2), lambda: (lib.ones(1, 2),)),
    "gradients": lambda lib: (lambda x: _step(lib, x), lambda: (lib.ones(2, requires_grad=True),)),
    "factors": lambda lib: (
        lambda a: lib.linalg.inv(a) + lib.linalg.cholesky(a) + lib.linalg.lu_factor(a)[0] + a.softmax(0, lib.double),
        lambda: (lib.eye(2),),
    ),
    "fresh tensors": lambda lib: (lambda x: x + lib.ones(2), lambda: (lib.ones(2),)),
}  # fmt: skip


def _learn(lib, w, x):
    ((x * w).sin() * w).sum().backward()


FX_PROGRAMS = {
    "constants": lambda lib, w, x: (x * w.detach() + x) * w.detach() + x,
    "parameters": lambda lib, w, x: x * w + w * w,
    "a gradient": _learn,
    "a check": lambda lib, w, x: lib.linalg.inv(x.diag() + 1),
}


def _alone(program, lib, w):
    return lambda x: program(lib, w, x)


@pytest.mark.parametrize("program", FX_PROGRAMS.values(), ids=FX_PROGRAMS)
def test_what_is_traced_reads_as_in_pytorch(program):
    told = []
    for lib in (torch, torchlite):
        make_fx = fx_of(lib, "fx.experimental.proxy_tensor").make_fx
        w = lib.nn.Parameter(lib.tensor([1.0, 2.0, 3.0]))
        traced = make_fx(_alone(program, lib, w))(lib.arange(3.0))
        values = [node.meta.get("val") for node in traced.graph.nodes]
        told.append((traced.code, list(traced._buffers), [
            (type(v).__name__, v.shape) if isinstance(v, lib.Tensor) else None for v in values
        ]))
    assert told[0] == told[1]


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("program", OPERATIONS.values(), ids=OPERATIONS)
def test_operations_are_traced_as_overloads(program, mode):
    found = []
    for lib in (torch, torchlite):
        f, given = program(lib)
        if mode == "fake" and isinstance(f, lib.nn.Module):
            pytest.skip("parameters are no fakes")
        made = fx_of(lib, "fx.experimental.proxy_tensor").make_fx(f, tracing_mode=mode)(*given())
        if mode == "real":
            made(*given())
        found.append(made.code)
    assert found[0] == found[1]


@BOTH
def test_nodes_know_the_modules_that_they_come_from(lib):
    nn = lib.nn
    inner = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = inner

        def forward(self, x):
            return lib.relu(self.b(x))

    stacks = {n.name: list(n.meta.get("nn_module_stack", ())) for n in fx_of(lib).symbolic_trace(Outer()).graph.nodes}
    assert stacks == {"x": [], "b_0": ["b", "b.0"], "b_1_0": ["b", "b.1", "b.1.0"], "relu": [], "output": []}


@BOTH
def test_what_is_said_of_nodes_that_cannot_be(lib):
    fx = fx_of(lib)
    for make, said in (
        (lambda: fx.Graph().create_node("nope", "x"), "op 'nope' is not in _legal_ops"),
        (lambda: fx.Graph().call_function("x"), "target x has type str but a Callable is expected"),
        (lambda: fx.Graph().call_method(3), "Expected target to be str, got <class 'int'>"),
    ):
        with pytest.raises((AssertionError, ValueError), match=re.escape(said)):
            make()
    traced = fx.symbolic_trace(lambda x: x.view(7))
    with pytest.raises(RuntimeError, match=r"While executing %view [\s\S]*\nOriginal traceback:\nNone\nUse tlparse"):
        fx.Interpreter(traced).run(lib.ones(3))


@BOTH
def test_each_argument_of_a_pattern_is_a_node_of_its_own(lib):
    fx = fx_of(lib)
    traced = fx.symbolic_trace(lambda a, b: (a + b).relu() + (b + b).relu())
    found = fx.replace_pattern(traced, lambda x, y: (x + y).relu(), lambda x, y: x.sigmoid() - y)
    one = {str(theirs): str(ours) for theirs, ours in found[0].nodes_map.items()}
    assert [str(match.anchor) for match in found] == ["relu"] and one["x"] == "a" and one["y"] == "b"
    a, b = lib.tensor([1.0]), lib.tensor([2.0])
    assert lib.equal(traced(a, b), a.sigmoid() - b + (b + b).relu())


@BOTH
def test_arguments_by_keyword_alone_leave_no_type_of_the_result(lib):
    def program(x, *, scale=None):
        return x + 1

    traced = fx_of(lib).symbolic_trace(program)
    assert "def forward(self, x, scale = None):" in traced.code
    assert traced.graph.output_node().type is None


@BOTH
def test_operations_under_a_transform_keep_the_names_of_arguments(lib):
    make_fx = fx_of(lib, "fx.experimental.proxy_tensor").make_fx
    traced = make_fx(lib.func.grad(lambda weight: (weight * 3).sum()))(lib.ones(2))
    assert [node.name for node in traced.graph.find_nodes(op="placeholder")] == ["weight_1"]
