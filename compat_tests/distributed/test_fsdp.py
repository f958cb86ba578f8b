"""FullyShardedDataParallel in two processes and in four, beside PyTorch's with gloo."""

import importlib

import pytest

from .ranks import run, start
from .stories import attempt, same_numbers, tell_all
from .test_ddp import data


def fsdp(torch):
    return importlib.import_module(f"{torch.__name__}.distributed.fsdp")


def model(torch, width=5):
    nn = torch.nn
    inner = nn.Sequential(nn.Linear(width, width), nn.Tanh())
    made = nn.Sequential(nn.Linear(3, width), nn.Tanh(), inner, nn.Linear(width, 1))
    with torch.no_grad():
        for number, param in enumerate(made.parameters()):
            param.copy_(torch.sin(torch.arange(param.numel()) + number).reshape(param.shape) / 2)
    return made


def sharded(torch, **options):
    home = fsdp(torch)
    policy = home.wrap.ModuleWrapPolicy({torch.nn.Sequential})
    return home.FullyShardedDataParallel(
        model(torch), device_id=torch.device("cpu"), auto_wrap_policy=policy, **options
    )


def steps(torch, dist, tell, made, optimizer, count=3, clip=None):
    for step in range(count):
        optimizer.zero_grad()
        x = data(torch, dist.get_rank(), step)[0].to(torch.get_default_dtype())
        loss = made(x).square().sum()
        loss.backward()
        if clip is not None:
            tell(made.clip_grad_norm_(0.1, clip))
        optimizer.step()
        tell(loss.item(), [param.grad for param in made.parameters()])


def trained(torch, dist, tell):
    kinds = fsdp(torch).ShardingStrategy
    for strategy in (kinds.FULL_SHARD, kinds.SHARD_GRAD_OP, kinds.NO_SHARD):
        for original in (False, True):
            made = sharded(torch, sharding_strategy=strategy, use_orig_params=original)
            optimizer = torch.optim.Adam(made.parameters(), lr=0.1)
            steps(torch, dist, tell, made, optimizer)
            tell([list(param.shape) for param in made.parameters()], [name for name, _ in made.named_parameters()])
            tell(made.state_dict(), repr(made))


def scaled(torch, dist, tell):
    """Where gradients of one process overflow, all of them skip the step."""
    torch.set_default_dtype(torch.float32)
    kind = importlib.import_module(f"{torch.__name__}.distributed.fsdp.sharded_grad_scaler").ShardedGradScaler
    for options in ({}, {"growth_interval": 2}, {"enabled": False}):
        scaler, made = kind("cpu", init_scale=4.0, **options), sharded(torch)
        optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
        for step in range(4):
            optimizer.zero_grad()
            factor = float("inf") if scaler.is_enabled() and step == 2 and dist.get_rank() == 1 else 1.0
            loss = made(data(torch, dist.get_rank(), step)[0].float()).square().mean() * factor
            scaler.scale(loss).backward()
            if step == 1:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            tell(scaler.get_scale(), [param.isfinite().all() for param in made.parameters()])
        tell(made.state_dict(), scaler.state_dict())
    tell(attempt(lambda: scaler.unscale_(optimizer)), attempt(lambda: kind("cpu").step(optimizer)))


def clipped(torch, dist, tell):
    torch.set_default_dtype(torch.float32)  # PyTorch takes norms in no other
    made = sharded(torch)
    for clip in (2.0, 1.0, float("inf")):
        steps(torch, dist, tell, made, torch.optim.SGD(made.parameters(), lr=0.1), 2, clip)


def not_synced(torch, dist, tell):
    made = sharded(torch)
    with made.no_sync():
        made(data(torch, dist.get_rank(), 0)[0]).square().sum().backward()
    made(data(torch, dist.get_rank(), 1)[0]).square().sum().backward()
    tell([param.grad for param in made.parameters()])


def summoned(torch, dist, tell):
    made, home = sharded(torch), fsdp(torch)
    with home.FullyShardedDataParallel.summon_full_params(made):
        tell([(name, param) for name, param in made.named_parameters()])
        with torch.no_grad():
            for param in made.parameters():
                param *= 2
    tell(made.state_dict())


def states(torch, dist, tell):
    home = fsdp(torch)
    unit, kinds = home.FullyShardedDataParallel, home.StateDictType
    made = sharded(torch)
    optimizer = torch.optim.Adam(made.parameters(), lr=0.1)
    steps(torch, dist, tell, made, optimizer, 2)
    alone = home.FullStateDictConfig(rank0_only=True)
    with unit.state_dict_type(made, kinds.FULL_STATE_DICT, alone):
        tell(made.state_dict())
    with unit.state_dict_type(made, kinds.FULL_STATE_DICT):
        whole, of_optimizer = made.state_dict(), unit.optim_state_dict(made, optimizer)
    tell(whole, {name: sorted(of_optimizer["state"][name]) for name in of_optimizer["state"]})
    tell({name: value["exp_avg"] for name, value in of_optimizer["state"].items()})
    tell(of_optimizer["param_groups"][0]["params"])
    plain = model(torch)
    plain.load_state_dict(whole)
    tell(plain.state_dict())
    for original in (False, True):
        again = sharded(torch, use_orig_params=original)
        again.load_state_dict(whole)
        optimizer = torch.optim.Adam(again.parameters(), lr=0.5)
        state = {  # in PyTorch's, parameters share what counts their steps
            name: {key: value.clone() for key, value in each.items()} for name, each in of_optimizer["state"].items()
        }
        own = {"state": state, "param_groups": of_optimizer["param_groups"]}
        optimizer.load_state_dict(unit.optim_state_dict_to_load(again, optimizer, own))
        steps(torch, dist, tell, again, optimizer, 2)


def summoned_in_part(torch, dist, tell):
    """Whole gradients, on the host, for the first process alone."""
    home = fsdp(torch)
    unit = home.FullyShardedDataParallel
    made = sharded(torch, use_orig_params=True)
    made(data(torch, dist.get_rank(), 0)[0]).square().sum().backward()
    with unit.summon_full_params(made, with_grads=True):
        tell([param.grad for param in made.parameters()])
        with torch.no_grad():
            for param in made.parameters():
                param.grad *= 2
    tell([param.grad for param in made.parameters()])
    made = sharded(torch)
    with unit.summon_full_params(made, writeback=False, rank0_only=True):
        if dist.get_rank() == 0:
            tell([param.detach() for param in made.parameters()])
    for options in ({"rank0_only": True}, {"with_grads": True, "offload_to_cpu": True}):
        tell(str(attempt(lambda options=options: unit.summon_full_params(made, **options).__enter__())))
    tell(str(attempt(lambda: unit.summon_full_params(sharded(torch), with_grads=True).__enter__())))


def with_options(torch, dist, tell):
    home = fsdp(torch)
    kinds, pre, post = home.ShardingStrategy, *home.BackwardPrefetch
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    pins = torch.__name__ == "torch"  # which offloads and broadcasts where there is a GPU only
    for options in (
        {} if pins else {"cpu_offload": home.CPUOffload(offload_params=True)}, {"device_mesh": mesh},
        {"process_group": dist.new_group()},
        {"forward_prefetch": True, "backward_prefetch": post}, {"backward_prefetch": None}, {"backward_prefetch": pre},
        {"sync_module_states": not pins, "sharding_strategy": kinds.SHARD_GRAD_OP},
    ):  # fmt: skip
        made = sharded(torch, **options)
        steps(torch, dist, tell, made, torch.optim.SGD(made.parameters(), lr=0.1), 2)
    tell(str(attempt(lambda: sharded(torch, device_mesh=mesh, process_group=dist.group.WORLD))))


def left_alone(torch, dist, tell):
    """Modules that are not to be sharded, frozen parameters, and those that two modules have."""
    nn, unit = torch.nn, fsdp(torch).FullyShardedDataParallel
    plain = model(torch)
    made = unit(plain, device_id=torch.device("cpu"), ignored_modules=[plain[0]])
    steps(torch, dist, tell, made, torch.optim.SGD(made.parameters(), lr=0.1), 2)
    tell([list(param.shape) for param in made.parameters()])
    plain = model(torch)
    plain[0].requires_grad_(False)
    made = unit(plain, device_id=torch.device("cpu"), use_orig_params=True)
    steps(torch, dist, tell, made, torch.optim.SGD([p for p in made.parameters() if p.requires_grad], lr=0.1), 2)
    tied = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    tied[2].weight = tied[0].weight
    with torch.no_grad():
        for param in tied.parameters():
            param.copy_(torch.linspace(-1, 1, param.numel()).reshape(param.shape))
    made = unit(tied, device_id=torch.device("cpu"))
    made(torch.ones(2, 4) * (1 + dist.get_rank())).sum().backward()
    tell([param.grad for param in made.parameters()], sorted(made.state_dict()))


PARTS = [trained, clipped, scaled, not_synced, summoned, states, summoned_in_part, with_options, left_alone]


def stories(torch, tell):
    tell_all(PARTS, torch, tell)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ranks", [2, 4])
def test_modules_are_sharded_as_pytorchs_are(ranks):
    same_numbers(stories, ranks)


def frees(torch, tell):
    """What nodes keep of parameters is gathered again in backward; pieces are loaded where they came from."""
    dist, home = start(torch), fsdp(torch)
    unit = home.FullyShardedDataParallel
    made = sharded(torch)
    out = made(data(torch, dist.get_rank(), 0)[0].float())
    assert all(each._handle._full is None for each in unit.fsdp_modules(made))
    out.sum().backward()
    assert all(each._handle._full is None for each in unit.fsdp_modules(made))
    with unit.state_dict_type(made, home.StateDictType.SHARDED_STATE_DICT):
        pieces = made.state_dict()
    rows = pieces["2.0.weight"].local_tensor().shape[0]
    assert rows == (3 if dist.get_rank() == 0 else 2) and tuple(pieces["2.0.weight"].shape) == (5, 5)
    again = sharded(torch)
    for param in again.parameters():
        param.data.zero_()
    again.load_state_dict(pieces)
    for mine, model_of in zip(again.parameters(), made.parameters()):
        assert torch.equal(mine, model_of)
    with unit.summon_full_params(made, offload_to_cpu=True), torch.no_grad():  # at which PyTorch fails without a GPU
        for param in made.parameters():
            assert param.device.type == "cpu"
            param += 1
    for mine, model_of in zip(again.parameters(), made.parameters()):
        assert torch.equal(mine + 1, model_of)
    dist.destroy_process_group()


def test_parameters_are_freed_after_forward_and_state_may_be_in_pieces():
    run("torchlite", frees)
