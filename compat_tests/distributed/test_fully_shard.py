"""`fully_shard` in two processes, beside PyTorch's with gloo."""

import importlib

import pytest

from .ranks import run, start
from .stories import attempt, same_numbers, tell_all
from .test_dtensor import mesh_of
from .test_fsdp import fsdp, model


def data(torch, rank, step):
    return torch.sin(torch.arange(12.0).reshape(4, 3) + step + 7 * rank)


def sharded(torch, **options):
    made, home = model(torch), fsdp(torch)
    for part in made:
        if isinstance(part, (torch.nn.Linear, torch.nn.Sequential)):
            home.fully_shard(part, **options)
    return home.fully_shard(made, **options)


def steps(torch, dist, tell, made, optimizer, count=3):
    for step in range(count):
        optimizer.zero_grad()
        loss = made(data(torch, dist.get_rank(), step)).square().sum()
        loss.backward()
        tell(loss.item(), [param.grad.full_tensor() for param in made.parameters()])
        tell(torch.nn.utils.clip_grad_norm_(made.parameters(), 0.5).full_tensor())
        optimizer.step()


def wholes(state):
    return {name: value.full_tensor() for name, value in state.items()}


def trained(torch, dist, tell):
    mesh = mesh_of(torch)
    for options in ({}, {"mesh": mesh, "reshard_after_forward": False}, {"mesh": mesh, "reshard_after_forward": True}):
        made = sharded(torch, **options)
        tell(repr(made), [name for name, _ in made.named_parameters()], [p.to_local() for p in made.parameters()])
        tell([str(param.placements) for param in made.parameters()])
        steps(torch, dist, tell, made, torch.optim.AdamW(made.parameters(), lr=0.1))
        tell(wholes(made.state_dict()))


def accumulated(torch, dist, tell):
    made = sharded(torch)
    made.set_requires_gradient_sync(False)
    made(data(torch, dist.get_rank(), 0)).sum().backward()
    tell([param.grad is None for param in made.parameters()])
    made.set_requires_gradient_sync(True)
    made(data(torch, dist.get_rank(), 1)).sum().backward()
    tell([param.grad.full_tensor() for param in made.parameters()])
    made[0].unshard()
    tell(type(made[0].weight).__name__, made[0].weight)
    made[0].reshard()
    tell(type(made[0].weight).__name__, type(made[0]).__name__, isinstance(made[0], torch.nn.Linear))


def in_low_precision(torch, dist, tell):
    torch.set_default_dtype(torch.float32)
    policy = fsdp(torch).MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32)
    made = sharded(torch, mp_policy=policy)
    out = made(data(torch, dist.get_rank(), 0))
    out.sum().backward()
    tell(str(out.dtype), [round(value, 2) for value in out.detach().reshape(-1).tolist()])
    tell([str(param.grad.dtype) for param in made.parameters()], repr(policy))


def made_later(torch, dist, tell):
    home = fsdp(torch)
    with torch.device("meta"):
        layer = torch.nn.Linear(4, 5)
    home.fully_shard(layer, offload_policy=home.CPUOffloadPolicy(pin_memory=False))
    layer.to_empty(device="cpu")
    torch.nn.init.constant_(layer.weight, 2.0)
    torch.nn.init.zeros_(layer.bias)
    tell(layer(torch.ones(2, 4)), str(layer.weight.device))
    for name in ("square", "short"):
        shape = (4, 4) if name == "square" else (3, 1)
        one = home.fully_shard(torch.nn.Linear(*shape))
        with torch.no_grad():
            torch.nn.init.constant_(one.weight, 1.0)
        one(torch.ones(2, shape[0])).sum().backward()
        tell([list(param.to_local().shape) for param in one.parameters()], one.weight.grad.full_tensor())


def tied(torch, dist, tell):
    home = fsdp(torch)
    made = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    made[1].weight = made[0].weight
    with torch.no_grad():
        for param in made.parameters():
            param.fill_(0.1)
    home.fully_shard(made)
    made(torch.ones(2, 4)).sum().backward()
    tell([param.grad.full_tensor() for param in made.parameters()], made[0].weight is made[1].weight)
    plain = {name: torch.ones(value.shape) for name, value in made.state_dict().items()}
    tell(str(attempt(lambda: made.load_state_dict(plain))))
    tell(str(attempt(lambda: home.fully_shard(torch.nn.ModuleList([torch.nn.Linear(2, 2)])))))
    sides = importlib.import_module(f"{torch.__name__}.distributed.tensor")
    tell(str(attempt(lambda: home.fully_shard(torch.nn.Linear(3, 3), shard_placement_fn=lambda p: sides.Shard(1)))))
    made = home.fully_shard(torch.nn.Linear(4, 3), shard_placement_fn=lambda p: sides.Shard(p.dim() - 1))
    with torch.no_grad():
        torch.nn.init.constant_(made.weight, 1.0)
    made(torch.arange(8.0).reshape(2, 4)).sum().backward()
    tell(made.weight.to_local(), made.weight.grad.full_tensor(), made.bias.grad.full_tensor())


def stories(torch, tell):
    tell_all([trained, accumulated, in_low_precision, made_later, tied], torch, tell)


@pytest.mark.filterwarnings("ignore")
def test_modules_are_sharded_as_pytorchs_are():
    same_numbers(stories)


def hybrid(torch, dist, tell):
    """Replicas of shards: fully_shard over a grid of processes, and FSDP's HYBRID_SHARD."""
    home = fsdp(torch)
    mesh = torch.distributed.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    made = sharded(torch, mesh=mesh)
    tell([str(param.placements) for param in made.parameters()])
    steps(torch, dist, tell, made, torch.optim.SGD(made.parameters(), lr=0.1), 2)
    for kind in (home.ShardingStrategy.HYBRID_SHARD, home.ShardingStrategy._HYBRID_SHARD_ZERO2):
        flat = home.FullyShardedDataParallel(
            model(torch), sharding_strategy=kind, device_mesh=mesh, device_id=torch.device("cpu"), use_orig_params=True
        )
        optimizer = torch.optim.SGD(flat.parameters(), lr=0.1)
        for step in range(2):
            optimizer.zero_grad()
            loss = flat(data(torch, dist.get_rank(), step)).square().sum()
            loss.backward()
            optimizer.step()
            tell(loss.item(), [param.grad for param in flat.parameters()])


def in_part(torch, dist, tell):
    """Between forward and backward, parameters are with as many processes as is said."""
    home = fsdp(torch)
    for number in (0, 3, 5, -2):
        tell(str(attempt(lambda number=number: home.fully_shard(torch.nn.Linear(2, 2), reshard_after_forward=number))))
    grid = torch.distributed.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    for number, mesh in ((1, None), (2, None), (4, None), (1, grid), (2, grid)):
        made = sharded(torch, mesh=mesh, reshard_after_forward=number)
        steps(torch, dist, tell, made, torch.optim.SGD(made.parameters(), lr=0.1), 2)
        with torch.no_grad():
            tell(made(data(torch, 0, 0)))
        made(data(torch, 0, 0))
        for value in made.state_dict().values():
            value.to_local().zero_()
        tell(str(attempt(lambda made=made: made.set_reshard_after_forward(2))))
        made.set_reshard_after_forward(True)
        steps(torch, dist, tell, made, torch.optim.SGD(made.parameters(), lr=0.1), 1)


def hybrid_stories(torch, tell):
    tell_all([hybrid, in_part], torch, tell)


@pytest.mark.filterwarnings("ignore")
def test_replicas_of_shards_take_the_mean_together():
    same_numbers(hybrid_stories, 4)


def near(torch, tell):
    """Who is asked for parameters: everyone for forward, and for backward the neighbours that kept them."""
    dist, asked = start(torch), []
    handle = importlib.import_module("torchlite.distributed.fsdp.handle")
    gather = handle.all_gather_single
    handle.all_gather_single = lambda *args, group, **how: (
        asked.append(dist.get_process_group_ranks(group)), gather(*args, group=group, **how))[1]  # fmt: skip
    made = sharded(torch, reshard_after_forward=2)
    for _ in range(2):
        loss = made(data(torch, dist.get_rank(), 0)).sum()
        tell(asked)
        asked.clear()
        loss.backward()
        tell(asked)
        asked.clear()
    groups = len(dist.distributed_c10d._world.groups)
    sharded(torch, reshard_after_forward=2)
    tell(len(dist.distributed_c10d._world.groups) - groups)
    dist.destroy_process_group()


def test_backward_asks_neighbours_that_kept_parameters():
    for rank, (forward, backward, *again, more) in enumerate(run("torchlite", near, 4)):
        pair = [rank // 2 * 2, rank // 2 * 2 + 1]
        count = forward.count("[0, 1, 2, 3]")
        assert forward == str([[0, 1, 2, 3]] * count) and backward == str([pair] * backward.count("[", 1))
        assert again == [forward, backward] and count > 1 < backward.count("[", 1) and more == "0"


def ahead(torch, tell):
    """Parameters are gathered before they are needed, and what was gathered for nothing is not kept."""
    dist = start(torch)
    made, gathered = sharded(torch), []
    units = [part for part in made.modules() if isinstance(part, fsdp(torch).FSDPModule) and part is not made]
    for number, unit in enumerate(units):
        group = unit._get_fsdp_state().group
        prefetch = group.prefetch
        group.prefetch = lambda number=number, call=prefetch: (gathered.append(number), call())
    units[0].set_modules_to_forward_prefetch([units[1]])
    x = data(torch, dist.get_rank(), 0)
    loss = made(x).sum()
    assert gathered == [1]
    loss.backward()
    assert gathered == [1, 1, 0]
    assert all(unit._get_fsdp_state().group._full is None for unit in units)
    with torch.no_grad():
        for param in made.parameters():
            param.zero_()
    assert not made(x).any()
    dist.destroy_process_group()


def test_parameters_are_gathered_before_they_are_needed():
    run("torchlite", ahead)
