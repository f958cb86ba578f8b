"""FullyShardedDataParallel in two processes, beside PyTorch's with gloo."""

import importlib
import sys

import pytest

from .ranks import run, start
from .stories import same_numbers, tell_all
from .test_ddp import data

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes work together on POSIX systems only")


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


def stories(torch, tell):
    tell_all([trained, clipped, not_synced, summoned, states], torch, tell)


@pytest.mark.filterwarnings("ignore")
def test_modules_are_sharded_as_pytorchs_are():
    same_numbers(stories)


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
    dist.destroy_process_group()


def test_parameters_are_freed_after_forward_and_state_may_be_in_pieces():
    run("torchlite", frees)
