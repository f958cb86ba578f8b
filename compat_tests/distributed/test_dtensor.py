"""Tensors over meshes in two processes, beside PyTorch's with gloo."""

import importlib

import pytest

from .stories import attempt, same_numbers, tell_all


def home(torch):
    return importlib.import_module(f"{torch.__name__}.distributed.tensor")


def mesh_of(torch):
    """All processes in a row."""
    dist = torch.distributed
    return dist.init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))


def whole(value, kind):
    if isinstance(value, (list, tuple)):
        return [whole(each, kind) for each in value]
    return [list(value.shape), list(value.stride()), value.full_tensor()] if isinstance(value, kind) else value


def placed(torch, dist, tell):
    """What processes have, and how it moves."""
    made, mesh = home(torch), mesh_of(torch)
    shard, replicate, partial = made.Shard, made.Replicate, made.Partial
    x = torch.arange(15.0).reshape(5, 3)
    for start in (shard(0), shard(1), shard(-1), replicate()):
        t = made.distribute_tensor(x, mesh, [start])
        tell(repr(t), [str(t.placements), str(t.device_mesh), list(t.shape), list(t.stride())], t.to_local())
        for end in (shard(0), shard(1), replicate()):
            tell(repr(t.redistribute(mesh, [end]).to_local()))
    for op in ("sum", "avg", "max", "min"):
        t = made.DTensor.from_local(x * (1 + dist.get_rank()), mesh, [partial(op)])
        tell(repr(t.placements), [t.redistribute(mesh, [end]).to_local() for end in (shard(0), shard(1), replicate())])
    short = made.distribute_tensor(torch.ones(1, 2), mesh, [shard(0)])
    tell(list(short.to_local().shape), short.full_tensor())
    tell(made.zeros(3, 2, device_mesh=mesh, placements=[shard(0)]).to_local())
    tell(
        *[str(attempt(call)) for call in (
            lambda: t.redistribute(mesh, [shard(2)]), lambda: short.redistribute(mesh, [partial()]),
            lambda: short + torch.ones(1, 2), lambda: made.DTensor.from_local(short, mesh, [shard(0)]),
            lambda: short.numpy(), lambda: short.tolist(),
        )]
    )  # fmt: skip


def computed(torch, dist, tell):
    """Values do not depend on how operands lie."""
    made, mesh = home(torch), mesh_of(torch)
    x = torch.arange(15.0).reshape(5, 3) / 7
    d = made.distribute_tensor(x, mesh, [made.Shard(0)])
    for t in (
        d, made.distribute_tensor(x, mesh, [made.Shard(1)]), made.distribute_tensor(x, mesh, [made.Replicate()]),
        made.DTensor.from_local(x, mesh, [made.Partial()]),
    ):  # fmt: skip
        tell(*whole([
            t * 2, t + t, t + 1, -t, t / 3, t - d, t.exp(), t.sum(), t.sum(0), t.mean(1, keepdim=True), t.max(),
            t.amin(1), t.norm(), torch.linalg.vector_norm(t, 3), t.t(), t.view(5, 3, 1), t[0], t[:, 1:], t @ t.t(),
            t.std(0), t.to(torch.float16),
            torch.cat([t, t]), torch.stack([t, t]), t.softmax(1), t.softmax(0), t.unsqueeze(0), t.float(), t.argmax(1),
            torch.zeros_like(t), t.new_zeros(5, 3), t.clone().mul_(2), t.clone().add_(d), (t > 1).all(),
            torch.nn.functional.linear(t, d), t.expand(2, 5, 3), t.permute(1, 0), torch.where(t > 1, t, t * 0),
        ], made.DTensor))  # fmt: skip
    tell(d.sum().item(), made.distribute_tensor(x, mesh, [made.Replicate()]).sum().item())


def learned(torch, dist, tell):
    """Gradients lie as parameters do, and optimizers keep their state so."""
    made, mesh = home(torch), mesh_of(torch)
    x = torch.arange(15.0).reshape(5, 3) / 7
    p = torch.nn.Parameter(made.distribute_tensor(x, mesh, [made.Shard(0)]))
    tell(type(p).__name__, isinstance(p, torch.nn.Parameter), p.requires_grad)
    across = made.distribute_tensor(x, mesh, [made.Shard(1)])
    for make in (
        lambda: torch.optim.AdamW([p], lr=0.1), lambda: torch.optim.SGD([p], lr=0.1, momentum=0.9),
        lambda: torch.optim.Adagrad([p], lr=0.1),
    ):  # fmt: skip
        optimizer = make()
        for _ in range(3):
            optimizer.zero_grad()
            ((p * 2) @ across.t()).square().sum().backward()
            tell(p.grad.full_tensor(), torch.nn.utils.clip_grad_norm_([p], 1.0).full_tensor())
            optimizer.step()
        tell(p.full_tensor(), p.to_local())
    p.grad = None
    p.to_local().square().sum().backward()
    tell(p.grad.full_tensor())
    local = torch.ones(2, 3, requires_grad=True)
    made.DTensor.from_local(local, mesh, [made.Shard(0)]).square().sum().backward()
    tell(local.grad)
    layer = made.distribute_module(torch.nn.Linear(3, 2), mesh)
    tell([str(param.placements) for param in layer.parameters()])


def stories(torch, tell):
    tell_all([placed, computed, learned], torch, tell)


@pytest.mark.filterwarnings("ignore")
def test_tensors_over_a_mesh_are_pytorchs():
    same_numbers(stories)


def in_a_grid(torch, dist, tell):
    made = home(torch)
    mesh = torch.distributed.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    x = torch.arange(35.0).reshape(7, 5)
    choices = (made.Shard(0), made.Shard(1), made.Replicate())
    for first in choices:
        for second in choices:
            t = made.distribute_tensor(x, mesh, [first, second])
            tell(t.to_local(), (t * 2 + t).full_tensor(), (t @ t.t()).full_tensor(), t.sum(0).full_tensor())
            for other in choices:
                tell(t.redistribute(mesh, [other, second]).to_local(), t.redistribute(mesh, [first, other]).to_local())


def lain(torch, dist, tell):
    """Where results lie, in a row and in a grid: what a process has of them depends on it."""
    made, mesh = home(torch), mesh_of(torch)
    grid = torch.distributed.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    x, shard, replicate = torch.arange(32.0).reshape(8, 4) / 7, made.Shard, made.Replicate()
    meshes = {(mesh, (each,)) for each in (shard(0), shard(1), replicate)}
    meshes |= {(grid, pair) for pair in ((shard(0), shard(1)), (shard(0), shard(0)), (replicate, shard(1)))}
    given = [made.distribute_tensor(x, over, places) for over, places in sorted(meshes, key=repr)]
    given.append(made.DTensor.from_local(x * (1 + dist.get_rank()), mesh, [made.Partial()]))
    names = (
        "exp square relu isnan int float clone sum mean norm std argmax amax t flatten softmax cumsum "
        "logsumexp max flip roll repeat mv"
    )
    arguments = {
        "std": [(0,), (1,)], "argmax": [(0,), (1,)], "amax": [(0,), (1,)], "cumsum": [(0,), (1,)],
        "sum": [(), (0,), (1,)], "mean": [(), (0,)], "norm": [(), (1,), (float("inf"),)], "softmax": [(0,), (1,)],
        "logsumexp": [(1,)], "max": [(1,)], "flip": [(0,)], "roll": [(1, 0)], "repeat": [(2, 1)], "flatten": [(0, 0)],
    }  # fmt: skip
    for t in given:
        for name in names.split():
            for rest in arguments.get(name, [()]) if name != "mv" else [(t[0],)]:
                found = getattr(t, name)(*rest)
                for each in found if isinstance(found, tuple) else [found]:
                    tell(name, str(each.placements), each.full_tensor())
        few = made.distribute_tensor(torch.tensor([1, 0]), t.device_mesh, [replicate] * t.device_mesh.ndim)
        for each in (
            t.gt(1).any(), t.gt(1).any(1), t.gt(1).all(0), t + 1, t[0], t[1:],
            t[:, 1:], t[0].dot(t[1]), torch.cat([t, t]), t @ t.t(), t.mul_(2), t.index_select(0, few),
            torch.nn.functional.pad(t, (1, 1)), torch.nn.functional.pad(t, (1, 1), value=2.0), torch.maximum(t, t * 2),
            torch.nn.functional.layer_norm(t, (4,)), torch.nn.functional.normalize(t, dim=0),
        ):  # fmt: skip
            tell(str(each.placements), each.full_tensor())


def lost(torch, dist, tell):
    """Losses of pieces, and gradients: those of a mean are, in PyTorch, too large, by the number of processes."""
    made, mesh, ours = home(torch), mesh_of(torch), torch.__name__ == "torchlite"
    for rows, placement in ((8, made.Shard(0)), (8, made.Shard(1)), (8, made.Replicate()), (5, made.Shard(0))):
        x = (torch.arange(4.0 * rows).reshape(rows, 4) + 1) / (5 * rows)
        for name in (
            "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div",
            "binary_cross_entropy", "binary_cross_entropy_with_logits",
        ):  # fmt: skip
            loss = getattr(torch.nn.functional, name)
            for reduction in ("none", "sum", "mean"):
                whole = x.clone().requires_grad_()
                t = made.distribute_tensor(x, mesh, [placement]).requires_grad_()
                target = made.distribute_tensor(x.flip(1), mesh, [placement])
                found, plain = loss(t, target, reduction=reduction), loss(whole, x.flip(1), reduction=reduction)
                even = rows % dist.get_world_size() == 0 or reduction != "mean"  # else PyTorch's are wrong, too
                tell(name, reduction, str(found.placements) if even else None, found.full_tensor() if ours else plain)
                found.sum().backward()
                plain.sum().backward()
                tell(str(t.grad.placements), t.grad.full_tensor() if ours else whole.grad)


def grid_stories(torch, tell):
    tell_all([in_a_grid, lain, lost], torch, tell)


@pytest.mark.filterwarnings("ignore")
def test_pieces_are_cut_again_along_a_second_dimension_of_the_mesh():
    same_numbers(grid_stories, 4)
