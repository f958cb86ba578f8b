"""ZeroRedundancyOptimizer in two processes, beside PyTorch's with gloo."""

import importlib

from .stories import attempt, same_numbers, tell_all
from .test_ddp import data, model


def zero(torch):
    return importlib.import_module(f"{torch.__name__}.distributed.optim").ZeroRedundancyOptimizer


def stepped(torch, dist, ddp, optimizer, steps, scheduler=None):
    for step in range(steps):
        optimizer.zero_grad()
        ddp(data(torch, dist.get_rank(), step)[0]).square().sum().backward()
        optimizer.step()
        if scheduler:
            scheduler.step()


def trained(torch, dist, tell):
    for kind, options in (("Adam", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}), ("SGD", {"lr": 0.01})):
        ddp = torch.nn.parallel.DistributedDataParallel(model(torch, dist.get_rank()))
        optimizer = zero(torch)(ddp.parameters(), getattr(torch.optim, kind), **options)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        stepped(torch, dist, ddp, optimizer, 5, scheduler)
        tell(ddp.state_dict(), len(optimizer.optim.param_groups[0]["params"]), optimizer.param_groups[0]["lr"])
        tell(repr(optimizer), attempt(optimizer.state_dict))


def resumed(torch, dist, tell):
    ddp = torch.nn.parallel.DistributedDataParallel(model(torch, dist.get_rank()))
    groups = [{"params": list(ddp.parameters())[:2], "lr": 0.01}, {"params": list(ddp.parameters())[2:]}]
    optimizer = zero(torch)(groups, torch.optim.Adam, lr=0.1)
    stepped(torch, dist, ddp, optimizer, 2)
    for to in (0, 1):
        optimizer.consolidate_state_dict(to=to)
        tell(attempt(optimizer.state_dict))
    box = [optimizer.state_dict() if dist.get_rank() == 1 else None]
    dist.broadcast_object_list(box, src=1)
    again = zero(torch)(ddp.parameters(), torch.optim.Adam, lr=1.0)
    tell(attempt(lambda: again.load_state_dict({"state": {}, "param_groups": []})) is not None)
    again = zero(torch)(groups, torch.optim.Adam, lr=1.0)
    again.load_state_dict(box[0])
    stepped(torch, dist, ddp, again, 2)
    tell(ddp.state_dict())


def uneven(torch, dist, tell):
    join = importlib.import_module(f"{torch.__name__}.distributed.algorithms.join").Join
    ddp = torch.nn.parallel.DistributedDataParallel(model(torch, dist.get_rank()))
    optimizer = zero(torch)(ddp.parameters(), torch.optim.SGD, lr=0.1)
    with join([ddp, optimizer]):
        stepped(torch, dist, ddp, optimizer, 2 + 2 * dist.get_rank())
    tell(ddp.state_dict())


def refusals(torch, dist, tell):
    made, param = zero(torch), torch.nn.Parameter
    for params in ([], 3, [3], torch.ones(2), [param(torch.ones(2)), param(torch.ones(2).float())]):
        tell(attempt(lambda params=params: made(params, torch.optim.SGD, lr=1)))


def stories(torch, tell):
    tell_all([trained, resumed, uneven, refusals], torch, tell)


def test_the_state_is_shared_out_as_pytorchs_is():
    same_numbers(stories)
