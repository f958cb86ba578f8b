"""`torch.compile` with a program's own backend: it is called with graphs, and what it gives runs in their place."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from .side_by_side import same_story

pytestmark = pytest.mark.filterwarnings("ignore")


def tried(call: Any, *values: Any, **named: Any) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        return call(*values, **named)
    except Exception as error:
        return type(error).__name__, str(error)


class Backend:
    """Runs graphs as they are, and counts."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.graphs: list[int] = []  # how many inputs each has
        self.runs = 0

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        assert isinstance(gm, self.torch.fx.GraphModule)
        placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
        assert len(placeholders) == len(example_inputs)
        self.graphs.append(len(placeholders))

        def run(*inputs: Any) -> Any:
            self.runs += 1
            return gm.forward(*inputs)

        return run


@same_story
def test_training_goes_as_without_a_compiler(torch: Any, tell: Any) -> None:
    nn, backend = torch.nn, Backend(torch)
    found = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
        run = torch.compile(model, backend=backend) if compiled else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x, y, losses = torch.randn(16, 4), torch.randn(16, 1), []
        for _ in range(4):
            loss = nn.functional.mse_loss(run(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        run.eval()
        found.append([*losses, run(x).sum().item(), *[b.tolist() for b in model.buffers()]])
    tell(found[0] == found[1], backend.graphs, backend.runs)


@same_story
def test_what_a_backend_gives_is_what_runs(torch: Any, tell: Any) -> None:
    hundredfold = torch.compile(lambda x: x * 2, backend=lambda gm, inputs: lambda x: (x * 100,))
    tell(hundredfold(torch.ones(2)))

    def several(x: Any, n: int, *, k: int = 1) -> Any:
        cut = torch.split(x, 1)
        return {"x": x, "n": n + k, "y": (x.T @ x).sum() * n, "cut": cut, "most": x.max(0), "nothing": None}

    backend, x = Backend(torch), torch.arange(6.0).reshape(2, 3)
    made = torch.compile(several, backend=backend)(x, 3, k=4)
    tell(made["x"] is x, made["n"], made["y"], made["cut"], list(made["most"]), made["nothing"])
    tell(backend.graphs, backend.runs)


class Scaled:
    """Whose methods call themselves and their arguments as they like."""

    def of(this, given: Any) -> Any:
        return given.relu()

    @staticmethod
    def alone(z: Any) -> Any:
        return z.relu()

    @classmethod
    def by_class(kind, z: Any) -> Any:
        return z.relu()


@same_story
def test_inputs_are_called_as_functions_call_them(torch: Any, tell: Any) -> None:
    class Net(torch.nn.Module):
        def __init__(me) -> None:
            super().__init__()
            me.register_buffer("scale", torch.ones(3))

        def forward(me, x: Any) -> Any:
            return x.relu() * me.scale

        def other(it, y: Any) -> Any:
            return y.relu() * it.scale

    def names(gm: Any, inputs: Any) -> Any:
        tell([n.name for n in gm.graph.nodes if n.op == "placeholder"])
        return gm.forward

    for called in (Net(), Net().other, Scaled().of, Scaled.alone, Scaled.by_class, lambda q: q.relu()):
        torch.compile(called, backend=names)(torch.ones(2, 3))


@same_story
def test_graphs_write_in_place_and_keep_to_grad_mode(torch: Any, tell: Any) -> None:
    backend, weight, counts = Backend(torch), torch.ones(3, requires_grad=True), torch.zeros(3)

    @torch.compile(backend=backend)
    def f(x: Any) -> Any:
        with torch.no_grad():
            y = x * weight
        counts[1:] += 1
        return y * weight + counts.detach()

    for _ in range(3):
        f(torch.ones(3)).sum().backward()
    tell(weight.grad, counts, backend.graphs, backend.runs)
    torch._dynamo.reset()
    f(torch.ones(3))
    tell(len(backend.graphs), counts)


@same_story
def test_what_depends_on_values_breaks_a_graph(torch: Any, tell: Any) -> None:
    f = torch.compile(lambda x: x + 1 if x.sum() > 0 else x - 1, backend=Backend(torch))
    tell(f(torch.ones(2)), f(-torch.ones(2)))
    kept = []

    def keeps(x: Any) -> Any:
        kept.append(x * 2)
        return kept[-1] + x

    tell(torch.compile(keeps, backend=Backend(torch))(torch.ones(2)), kept[-1])

    @torch.compile(backend=Backend(torch), fullgraph=True)
    def whole(x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x

    with pytest.raises(torch._dynamo.exc.Unsupported):
        whole(torch.ones(2))


@same_story
def test_a_call_is_explained(torch: Any, tell: Any) -> None:
    told = torch._dynamo.explain(lambda x: torch.relu(torch.add(x, 1)))(torch.ones(2))
    tell(told.graph_count, told.graph_break_count, told.op_count, len(told.ops_per_graph[0]))
    tell(str(told).splitlines()[:4])


@same_story
def test_backends_are_known_by_name(torch: Any, tell: Any) -> None:
    warnings.simplefilter("ignore")  # PyTorch's own modules that it loads for this warn
    dynamo, nn = torch._dynamo, torch.nn
    before = dynamo.list_backends()
    tell(before, torch.compiler.list_backends() == before, "eager" in dynamo.list_backends(exclude_tags=None))
    for backend in ("nonsense", "Eager"):
        tell(tried(torch.compile, torch.sin, backend=backend), tried(torch.compile, nn.Linear(1, 1), backend=backend))
        tell(tried(torch.compile(backend=backend), torch.sin), tried(dynamo.lookup_backend, backend))
        tell(tried(dynamo.optimize, backend))
    tell(issubclass(dynamo.exc.InvalidBackend, RuntimeError), type(torch.compile(nn.Linear(1, 1))).__module__)
    mine, said = Backend(torch), []

    @dynamo.register_backend
    def counting_of_a_test(gm: Any, example_inputs: Any, **more: Any) -> Any:
        said.append((len(example_inputs), more))
        return mine(gm, example_inputs)

    dynamo.register_backend(name="mine_of_a_test", compiler_fn=lambda *graph: mine(*graph))
    dynamo.register_backend(lambda gm, example_inputs: gm, "hidden_of_a_test", ("debug",))
    tell([name for name in dynamo.list_backends() if name not in before])
    tell(tried(dynamo.register_backend, counting_of_a_test), tried(dynamo.register_backend, 3))
    tell(dynamo.lookup_backend("counting_of_a_test") is counting_of_a_test, dynamo.lookup_backend(mine) is mine)
    for backend, more in (
        ("mine_of_a_test", {}), ("counting_of_a_test", {"mode": "reduce-overhead"}),
        (counting_of_a_test, {"options": {"a": 1}}), (mine, {"mode": "default"}),
    ):  # fmt: skip
        tell(torch.compile(lambda x: x.sin() + 1, backend=backend, **more)(torch.ones(2)))
    tell(said, mine.graphs, mine.runs)
    torch.compiler.set_default_backend("mine_of_a_test")
    tell(torch.compile(lambda x: x.cos())(torch.ones(2)), len(mine.graphs))
    torch.compiler.set_default_backend(None)


@same_story
def test_functions_are_optimized_under_the_older_names(torch: Any, tell: Any) -> None:
    from importlib import import_module

    dynamo = torch._dynamo
    counter = import_module(f"{torch.__name__}._dynamo.testing").CompileCounter()
    tell(dynamo.optimize("eager")(lambda x: x + 1)(torch.ones(1)))
    for decorate in (dynamo.optimize(counter, nopython=True), dynamo.optimize_assert(counter)):
        tell(decorate(lambda x: x.sin().cos())(torch.ones(1)), counter.frame_count, counter.op_count)
        dynamo.reset()
    counter.clear()
    tell(dynamo.optimize(counter, disable=True)(lambda x: x.sin())(torch.ones(1)), counter.frame_count)
