"""Modules whose parameters are shared out over a mesh, in two processes, beside PyTorch's with gloo."""

import importlib
import warnings

import pytest

from .stories import attempt, same_numbers, tell_all
from .test_dtensor import home, mesh_of


def parallel(torch):
    return importlib.import_module(f"{torch.__name__}.distributed.tensor.parallel")


def filled(torch, module):
    with torch.no_grad():
        for number, param in enumerate(module.parameters()):
            param.copy_(torch.sin(torch.arange(param.numel()) + number).reshape(param.shape) / 2)
    return module


def network(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(4)
            self.up, self.down = nn.Linear(4, 6), nn.Linear(6, 4)

        def forward(self, x):
            return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))

    return filled(torch, nn.Sequential(nn.Embedding(8, 4), Block(), Block(), nn.LayerNorm(4), nn.Linear(4, 8)))


def words(torch, step):
    return (torch.arange(12).reshape(2, 6) * (step + 3)) % 8


def trained(torch, dist, tell, plan):
    made = parallel(torch).parallelize_module(network(torch), mesh_of(torch), plan)
    kind = home(torch).DTensor
    tell({name: [str(p.placements), p.to_local()] for name, p in made.named_parameters() if isinstance(p, kind)})
    optimizer = torch.optim.AdamW(made.parameters(), lr=0.1, foreach=False)
    for step in range(3):
        optimizer.zero_grad()
        out = made(words(torch, step))
        assert not isinstance(out, kind)
        loss = torch.nn.functional.cross_entropy(out.flatten(0, 1), words(torch, step + 1).flatten())
        loss.backward()
        optimizer.step()
        tell(loss.item(), list(out.shape))
        tell([p.grad.full_tensor() if isinstance(p, kind) else p.grad for p in made.parameters()])


def columns_and_rows(torch, dist, tell):
    styles = parallel(torch)
    trained(torch, dist, tell, {"1.up": styles.ColwiseParallel(), "1.down": styles.RowwiseParallel()})


def every_part(torch, dist, tell):
    styles, sides = parallel(torch), home(torch)
    cut, whole = sides.Shard(1), sides.Replicate()
    trained(torch, dist, tell, {
        "0": styles.RowwiseParallel(input_layouts=whole, output_layouts=cut, use_local_output=False),
        "[12].norm": styles.SequenceParallel(),
        "[12].up": styles.ColwiseParallel(input_layouts=cut, use_local_output=False),
        "[12].down": styles.RowwiseParallel(output_layouts=cut, use_local_output=False),
        "3": styles.SequenceParallel(),
        "4": styles.ColwiseParallel(input_layouts=cut, output_layouts=whole),
    })  # fmt: skip


def embeddings(torch, dist, tell):
    styles = parallel(torch)
    for style in (styles.ColwiseParallel(), styles.RowwiseParallel(input_layouts=home(torch).Replicate())):
        made = styles.parallelize_module(filled(torch, torch.nn.Embedding(8, 4)), mesh_of(torch), style)
        out = made(words(torch, 0))
        out.square().sum().backward()
        tell(out, str(made.weight.placements), made.weight.grad.full_tensor())


def prepared(torch, dist, tell):
    """What a module's own forward is given, and what comes of it."""
    styles, sides = parallel(torch), home(torch)
    cut, whole = sides.Shard(0), sides.Replicate()

    class Seen(torch.nn.Module):
        def forward(self, x, y=None, *, z=None):
            tell(*[(type(each).__name__, str(getattr(each, "placements", None))) for each in (x, z)])
            return x * 2, y

    mesh, x = mesh_of(torch), torch.arange(8.0).reshape(4, 2) + dist.get_rank()
    for local in (False, True):
        before = styles.PrepareModuleInput(
            input_layouts=(cut, None), desired_input_layouts=(whole, None), input_kwarg_layouts={"z": cut},
            desired_input_kwarg_layouts={"z": whole}, use_local_output=local,
        )  # fmt: skip
        after = styles.PrepareModuleOutput(
            output_layouts=(whole, None), desired_output_layouts=(cut, None), use_local_output=not local
        )
        both = styles.PrepareModuleInputOutput(
            input_layouts=(cut, None), desired_input_layouts=(whole, None), output_layouts=(whole, None),
            desired_output_layouts=(cut, None), use_local_input=local,
        )  # fmt: skip
        tell(repr(before), repr(after), repr(both))
        made = styles.parallelize_module(Seen(), mesh, before)
        made = styles.parallelize_module(made, mesh, after)
        for given in (made(x, None, z=x), styles.parallelize_module(Seen(), mesh, both)(x, None)):
            tell(type(given[0]).__name__, list(given[0].shape), given[1])
            tell(given[0].to_local() if hasattr(given[0], "to_local") else given[0])


def refusals(torch, dist, tell):
    styles, sides, nn = parallel(torch), home(torch), torch.nn
    mesh, cut = mesh_of(torch), sides.Shard(0)
    put = styles.parallelize_module

    def told(call):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            tell(str(attempt(call)), [str(each.message) for each in given])

    for style in (styles.ColwiseParallel(), styles.RowwiseParallel(output_layouts=cut), styles.SequenceParallel()):
        told(lambda style=style: style)
    for plan in (
        None, styles.ColwiseParallel(), {"7": styles.ColwiseParallel()}, {"0.x": styles.ColwiseParallel()}, 3, {"0": 3},
        {"*": styles.ColwiseParallel()}, styles.RowwiseParallel(),
    ):  # fmt: skip
        told(lambda plan=plan: put(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), mesh, plan))
    for options in (
        {"input_layouts": cut}, {"input_kwarg_layouts": {"x": cut}}, {"desired_input_layouts": cut},
        {"input_layouts": (cut, cut), "desired_input_layouts": cut},
    ):  # fmt: skip
        told(lambda options=options: styles.PrepareModuleInput(**options))
    told(lambda: styles.PrepareModuleOutput(output_layouts=(cut, cut), desired_output_layouts=cut))
    twice = styles.PrepareModuleInput(input_layouts=(cut, cut), desired_input_layouts=(cut, cut))
    told(lambda: put(nn.Linear(2, 2), mesh, twice)(torch.ones(2, 2)))
    once = styles.PrepareModuleInput(input_layouts=cut, desired_input_layouts=cut)
    told(lambda: put(nn.Linear(2, 2), mesh, once)(3))
    after = styles.PrepareModuleOutput(output_layouts=(cut, cut), desired_output_layouts=(cut, cut))
    told(lambda: put(nn.Linear(2, 2), mesh, after)(torch.ones(2, 2)))
    told(lambda: put(nn.LayerNorm(2), mesh, styles.SequenceParallel())(3))


def losses(torch, dist, tell):
    """The classes are shared out, and stay so: no process has all scores."""
    over, mesh = home(torch), home(torch).init_device_mesh("cpu", (dist.get_world_size(),))
    in_parallel, nn = parallel(torch).loss_parallel, torch.nn.functional

    def loss(shape, places, of=nn.cross_entropy, cut=1, **options):
        torch.manual_seed(1)
        scores, target = torch.randn(shape), torch.randint(0, shape[cut], places)
        scores = over.distribute_tensor(scores, mesh, [over.Shard(cut)]).requires_grad_()
        with in_parallel():
            told = of(scores, target, **options)
            told.sum().backward()
        grad = scores.grad
        return told.full_tensor(), told.placements, grad.placements, grad.to_local().shape, grad.full_tensor() + 0.0

    for options in ({}, {"weight": torch.arange(1.0, 9.0)}, {"ignore_index": 1}):
        for reduction in ("mean", "sum", "none"):
            tell(loss((4, 8), (4,), reduction=reduction, **options))
    tell(loss((4, 7), (4,)), loss((6,), (), cut=0), loss((2, 6, 3), (2, 3)))
    tell(loss((4, 8), (4,), lambda x, target: nn.nll_loss(nn.log_softmax(x, 1), target)))
    for placement in (over.Shard(0), over.Replicate()):
        scores = over.distribute_tensor(torch.ones(4, 8), mesh, [placement])
        with in_parallel():
            tell(attempt(lambda scores=scores: nn.log_softmax(scores, 1)))
    tell(nn.log_softmax(scores, 1).placements)


def stories(torch, tell):
    tell_all([columns_and_rows, every_part, embeddings, prepared, losses, refusals], torch, tell)


@pytest.mark.filterwarnings("ignore")
def test_modules_are_shared_out_as_pytorchs_are():
    same_numbers(stories)
