"""Parameters averaged now and then, by two processes, beside PyTorch's with gloo."""

import importlib
import warnings

from .stories import attempt, same_numbers, tell_all
from .test_ddp import data, model


def module(torch, name):
    return importlib.import_module(f"{torch.__name__}.distributed.{name}")


def averaging(torch, name):
    return module(torch, f"algorithms.model_averaging.{name}")


def warned(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        return attempt(call), [str(warning.message) for warning in seen]


def of_itself(torch, dist):
    """A model that no two processes share."""
    torch.manual_seed(dist.get_rank())
    return model(torch, dist.get_rank())


def stepped(torch, dist, net, optimizer, count, tell):
    for step in range(count):
        optimizer.zero_grad()
        net(data(torch, dist.get_rank(), step)[0]).square().sum().backward()
        optimizer.step()
        tell(net.state_dict(), optimizer.averager.step)


def made(torch, net, averager):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    return module(torch, "optim").PostLocalSGDOptimizer(optimizer, averager)


def now_and_then(torch, dist, tell):
    for period, warmup in ((2, 0), (3, 2), (2, 9)):
        net = of_itself(torch, dist)
        optimizer = made(torch, net, averaging(torch, "averagers").PeriodicModelAverager(period, warmup))
        stepped(torch, dist, net, optimizer, 6, tell)
        tell(repr(optimizer), optimizer.state_dict())


def by_groups(torch, dist, tell):
    kind = averaging(torch, "hierarchical_model_averager").HierarchicalModelAverager
    for sizes, warmup in (({2: 1, 4: 2}, 0), ({3: 2}, 1)):
        net = of_itself(torch, dist)
        stepped(torch, dist, net, made(torch, net, kind(sizes, warmup)), 6, tell)


def local_sgd(torch, dist, tell):
    """As a script has it: gradients first, parameters later."""
    hook = module(torch, "algorithms.ddp_comm_hooks.post_localSGD_hook")
    ddp = torch.nn.parallel.DistributedDataParallel(model(torch, dist.get_rank()))
    alone = dist.new_subgroups(1)[0]
    ddp.register_comm_hook(hook.PostLocalSGDState(None, alone, 3), hook.post_localSGD_hook)
    stepped(torch, dist, ddp, made(torch, ddp, averaging(torch, "averagers").PeriodicModelAverager(2, 3)), 8, tell)


def resumed(torch, dist, tell):
    net = of_itself(torch, dist)
    averager = averaging(torch, "averagers").PeriodicModelAverager(3)
    optimizer = made(torch, net, averager)
    stepped(torch, dist, net, optimizer, 2, tell)
    state = optimizer.state_dict()
    averager.step = 7
    optimizer.load_state_dict(state)
    tell(averager.step)
    del state["step"]
    tell(*warned(lambda: optimizer.load_state_dict(state)), averager.step)
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
    tell(len(optimizer.param_groups), len(optimizer.state), isinstance(optimizer, torch.optim.Optimizer))


def of_some(torch, dist, tell):
    """Which are averaged, and how they lie then; and those outside of a group keep theirs."""
    utils, parameter = averaging(torch, "utils"), torch.nn.Parameter
    rank = dist.get_rank()
    one, two = parameter(torch.full((2, 3), float(rank)).t()), parameter(torch.full((2,), rank, dtype=torch.float64))
    utils.average_parameters(iter([one, two]), None)
    tell(one, two, one.stride(), one._version)
    without = parameter(torch.full((2,), float(rank)))
    one.grad = torch.ones(3, 2)
    for params in ([one, without], [{"params": [one, without], "lr": 1}], [], [3]):
        tell(attempt(lambda params=params: utils.get_params_to_average(params)))
        tell(attempt(lambda params=params: utils.average_parameters_or_parameter_groups(params, None)))
    utils.average_parameters(iter([without]), dist.new_group([1]))
    tell(without)


def refusals(torch, dist, tell):
    periodic = averaging(torch, "averagers").PeriodicModelAverager
    layered = averaging(torch, "hierarchical_model_averager").HierarchicalModelAverager
    tell(attempt(averaging(torch, "averagers").ModelAverager))
    for period, warmup in ((0, 0), (2, -1), (1, 0)):
        tell(warned(lambda period=period, warmup=warmup: periodic(period, warmup) and None))
    for sizes, warmup in ((None, 0), ({}, 0), ({2: 2}, -1), ({2: 1}, 0), ({0: 2}, 0), ({1: 2}, 0), ({2: 0, 4: 2}, 0)):
        tell(warned(lambda sizes=sizes, warmup=warmup: layered(sizes, warmup) and None))


def stories(torch, tell):
    tell_all([now_and_then, by_groups, local_sgd, resumed, of_some, refusals], torch, tell)


def test_parameters_are_averaged_as_pytorchs_are():
    same_numbers(stories)
