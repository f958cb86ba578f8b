"""ZeroRedundancyOptimizer in two processes, beside PyTorch's with gloo."""

import importlib

from .stories import attempt, same_numbers, tell_all
from .test_ddp import data, model

HOOKS = "distributed.algorithms.ddp_comm_hooks.ddp_zero_hook"


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


def overlapped(torch, dist, tell):
    """Steps while backward runs, which PyTorch refuses over gloo, come to its plain steps after the first passes."""
    for kind, static in (("Adam", False), ("SGD", True)):
        for name in ("hook_with_zero_step", "hook_with_zero_step_interleaved"):
            for apart in (False, True):
                ddp = torch.nn.parallel.DistributedDataParallel(
                    model(torch, dist.get_rank()), bucket_cap_mb=1e-4, static_graph=static
                )
                ours = torch.__name__ == "torchlite"
                how = {"overlap_with_ddp": True} if ours else {}
                optimizer = zero(torch)(ddp.parameters(), getattr(torch.optim, kind), lr=0.1, **how)
                if ours:
                    hooks = importlib.import_module(f"torchlite.{HOOKS}")
                    reduced = importlib.import_module("torchlite.distributed.algorithms.ddp_comm_hooks.default_hooks")
                    tell(attempt(optimizer.state_dict).split(":")[0])
                    ddp.register_comm_hook(None, getattr(hooks, name)(reduced.allreduce_hook, ddp, optimizer, apart))
                else:
                    tell("RuntimeError")
                for step in range(6):
                    optimizer.zero_grad()
                    ddp(data(torch, dist.get_rank(), step)[0]).square().sum().backward()
                    if not ours and step >= 2 + static:
                        optimizer.step()
                optimizer.consolidate_state_dict()
                tell(ddp.state_dict(), [param.grad for param in ddp.parameters()])
                tell(optimizer.state_dict()["state"] if dist.get_rank() == 0 else None)


def refusals(torch, dist, tell):
    made, param = zero(torch), torch.nn.Parameter
    for params in ([], 3, [3], torch.ones(2), [param(torch.ones(2)), param(torch.ones(2).float())]):
        tell(attempt(lambda params=params: made(params, torch.optim.SGD, lr=1)))


    early = made([{"params": [param(torch.ones(2))]}], torch.optim.SGD, lr=1, overlap_with_ddp=True)
    for call in (early.state_dict, early.consolidate_state_dict, early.step, lambda: early.load_state_dict({}),
                 lambda: early.add_param_group({"params": [param(torch.ones(1))]})):  # fmt: skip
        tell(attempt(call))


def stories(torch, tell):
    tell_all([trained, resumed, uneven, overlapped, refusals], torch, tell)


def test_the_state_is_shared_out_as_pytorchs_is():
    same_numbers(stories)
