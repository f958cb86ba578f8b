"""Schedules of learning rates, beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from .side_by_side import same, same_story, story


def optimizer(torch: Any, name: str = "SGD", lr: Any = 0.1, groups: int = 2, **options: Any) -> Any:
    params = [{"params": [torch.nn.Parameter(torch.ones(2))], "lr": lr / (i + 1)} for i in range(groups)]
    return getattr(torch.optim, name)(params, **options)


SCHEDULES = {
    "LambdaLR": lambda L, o: L.LambdaLR(o, lambda epoch: 0.9**epoch),
    "LambdaLR of groups": lambda L, o: L.LambdaLR(o, [lambda epoch: 0.9**epoch, lambda epoch: 1 / (1 + epoch)]),
    "MultiplicativeLR": lambda L, o: L.MultiplicativeLR(o, lambda epoch: 0.95),
    "StepLR": lambda L, o: L.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda L, o: L.MultiStepLR(o, [2, 5, 5, 9]),
    "ConstantLR": lambda L, o: L.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda L, o: L.LinearLR(o, 0.25, 0.75, 6),
    "ExponentialLR": lambda L, o: L.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda L, o: L.PolynomialLR(o, 8, 2.0),
    "CosineAnnealingLR": lambda L, o: L.CosineAnnealingLR(o, 5, 0.01),
    "CosineAnnealingWarmRestarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 3),
    "CosineAnnealingWarmRestarts growing": lambda L, o: L.CosineAnnealingWarmRestarts(o, 2, 2, 0.001),
    "SequentialLR": lambda L, o: L.SequentialLR(
        o, [L.ConstantLR(o, 0.1, 3), L.ExponentialLR(o, 0.9), L.StepLR(o, 2)], [3, 7]
    ),
    "ChainedScheduler": lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 3), L.ExponentialLR(o, 0.9)]),
    "a chain in a sequence": lambda L, o: L.SequentialLR(
        o, [L.ChainedScheduler([L.LinearLR(o), L.ExponentialLR(o, 0.9)]), L.CosineAnnealingLR(o, 4)], [4]
    ),
    "CyclicLR": lambda L, o: L.CyclicLR(o, 0.01, 0.1, 4),
    "CyclicLR triangular2": lambda L, o: L.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 3, 2, mode="triangular2"),
    "CyclicLR exp_range": lambda L, o: L.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.9),
    "CyclicLR scale_fn": lambda L, o: L.CyclicLR(o, 0.01, 0.1, 3, scale_fn=lambda x: 1 / x),
    "OneCycleLR": lambda L, o: L.OneCycleLR(o, 0.5, 13),
    "OneCycleLR linear": lambda L, o: L.OneCycleLR(
        o, [0.5, 0.2], epochs=3, steps_per_epoch=5, anneal_strategy="linear"
    ),
    "OneCycleLR three phases": lambda L, o: L.OneCycleLR(o, 0.5, 20, three_phase=True),
}


def agree(program: Any) -> None:
    torch = pytest.importorskip("torch")
    import torchlite

    wanted, found = story(program, torch), story(program, torchlite)
    for a, b in zip(wanted, found):
        assert same(a, b), f"torch {a}\ntorchlite {b}"
    assert len(wanted) == len(found)


def saved(state: Any) -> Any:
    return {k: v for k, v in state.items() if not callable(v)}


@pytest.mark.parametrize("optim", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_and_state(name: str, optim: str) -> None:
    def program(torch: Any, tell: Any) -> None:
        o = optimizer(torch, optim, **({"momentum": 0.9} if optim == "SGD" else {}))
        s = SCHEDULES[name](torch.optim.lr_scheduler, o)
        tell(s.get_last_lr())
        for _ in range(12):
            o.step()
            s.step()
            tell(s.get_last_lr(), [{k: v for k, v in g.items() if k != "params"} for g in o.param_groups])
        tell(saved(s.state_dict()), sorted(s.__dict__))

    agree(program)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_loaded_schedule_goes_on(name: str) -> None:
    def program(torch: Any, tell: Any) -> None:
        L = torch.optim.lr_scheduler
        o = optimizer(torch, momentum=0.9)
        s = SCHEDULES[name](L, o)
        for _ in range(4):
            o.step()
            s.step()
        again = optimizer(torch, momentum=0.9)
        t = SCHEDULES[name](L, again)
        again.load_state_dict(copy.deepcopy(o.state_dict()))
        t.load_state_dict(copy.deepcopy(s.state_dict()))
        for _ in range(6):
            again.step()
            t.step()
            tell(t.get_last_lr(), [g["lr"] for g in again.param_groups])

    agree(program)


@pytest.mark.parametrize(
    "name",
    [
        "StepLR",
        "MultiStepLR",
        "ConstantLR",
        "LinearLR",
        "ExponentialLR",
        "PolynomialLR",
        "CosineAnnealingLR",
        "LambdaLR",
        "CosineAnnealingWarmRestarts",
        "CosineAnnealingWarmRestarts growing",
    ],
)
def test_going_to_an_epoch(name: str) -> None:
    def program(torch: Any, tell: Any) -> None:
        o = optimizer(torch)
        s = SCHEDULES[name](torch.optim.lr_scheduler, o)
        o.step()
        for epoch in (3, 1, 7, 4):
            s.step(epoch)
            tell(s.get_last_lr(), s.last_epoch)
        s.step()
        tell(s.get_last_lr(), s.last_epoch)

    agree(program)


@pytest.mark.parametrize(
    "make",
    [
        lambda L, o, e: L.StepLR(o, 3, 0.5, e),
        lambda L, o, e: L.MultiStepLR(o, [2, 4, 6], 0.1, e),
        lambda L, o, e: L.ConstantLR(o, 0.5, 6, e),
        lambda L, o, e: L.LinearLR(o, 0.25, 0.75, 8, e),
        lambda L, o, e: L.ExponentialLR(o, 0.9, e),
        lambda L, o, e: L.PolynomialLR(o, 8, 2.0, e),
        lambda L, o, e: L.CosineAnnealingLR(o, 5, 0.01, e),
        lambda L, o, e: L.LambdaLR(o, lambda n: 0.9**n, e),
        lambda L, o, e: L.MultiplicativeLR(o, lambda n: 0.9, e),
        lambda L, o, e: L.CosineAnnealingWarmRestarts(o, 3, 1, 0.0, e),
    ],
)
def test_resuming_by_last_epoch(make: Any) -> None:
    def program(torch: Any, tell: Any) -> None:
        L = torch.optim.lr_scheduler
        o = optimizer(torch)
        s = make(L, o, -1)
        for _ in range(4):
            o.step()
            s.step()
        t = make(L, o, s.last_epoch)
        tell(t.get_last_lr(), t.last_epoch)
        for _ in range(5):
            o.step()
            t.step()
            tell(t.get_last_lr())

    agree(program)


@same_story
def test_plateau(torch: Any, tell: Any) -> None:
    L = torch.optim.lr_scheduler
    for options in (
        {}, {"patience": 1}, {"patience": 0, "cooldown": 2}, {"mode": "max", "patience": 1},
        {"threshold": 0.3, "patience": 1}, {"threshold_mode": "abs", "threshold": 0.2, "patience": 1},
        {"mode": "max", "threshold_mode": "abs", "patience": 1}, {"patience": 0, "min_lr": [0.02, 0.03]},
        {"patience": 0, "eps": 0.05},
    ):  # fmt: skip
        o = optimizer(torch)
        s = L.ReduceLROnPlateau(o, **options)
        for metric in (3.0, 2.0, 2.0, torch.tensor(2.1), 1.9, 1.85, 1.9, 1.9, 1.9, 0.1, 5, 5, 5):
            s.step(metric)
            tell(s.get_last_lr(), s.num_bad_epochs, s.cooldown_counter, s.in_cooldown)
        tell(s.state_dict())
        t = L.ReduceLROnPlateau(optimizer(torch))
        t.load_state_dict(s.state_dict())
        t.step(7)
        tell(t.state_dict())
    o.add_param_group({"params": [torch.ones(1, requires_grad=True)]})
    s = L.ReduceLROnPlateau(optimizer(torch), patience=0, min_lr=[0.1, 0.1])
    s.optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)]})
    s.step(1)
    s.step(2)


@same_story
def test_tensor_rates_stay_the_same_tensors(torch: Any, tell: Any) -> None:
    L = torch.optim.lr_scheduler
    for make in (
        lambda o: L.ExponentialLR(o, 0.5), lambda o: L.StepLR(o, 2), lambda o: L.CosineAnnealingLR(o, 4),
        lambda o: L.LambdaLR(o, lambda e: 0.5**e), lambda o: L.LinearLR(o), lambda o: L.CyclicLR(o, 0.1, 0.2, 3),
        lambda o: L.OneCycleLR(o, 0.2, 10), lambda o: L.ReduceLROnPlateau(o, patience=0),
        lambda o: L.CosineAnnealingWarmRestarts(o, 3), lambda o: torch.optim.swa_utils.SWALR(o, 0.05, 4),
        lambda o: L.SequentialLR(o, [L.ConstantLR(o), L.ExponentialLR(o, 0.5)], [2]),
    ):  # fmt: skip
        o = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=torch.tensor(0.1), momentum=0.9)
        lr = o.param_groups[0]["lr"]
        s = make(o)
        for _ in range(5):
            o.step()
            s.step(*([1.0] if isinstance(s, L.ReduceLROnPlateau) else []))
            tell(lr, o.param_groups[0]["lr"] is lr, s.get_last_lr())


@same_story
def test_order_of_calls(torch: Any, tell: Any) -> None:
    L = torch.optim.lr_scheduler
    o = optimizer(torch)
    s = L.StepLR(o, 2)
    tell(hasattr(o.step, "_wrapped_by_lr_sched"), getattr(o, "_opt_called", None))
    s.step()
    s.step()
    tell(s.get_lr(), s.get_last_lr())
    o = optimizer(torch)
    s = L.StepLR(o, 2)
    o.step = lambda: None
    s.step()
    o = optimizer(torch)
    s = L.StepLR(o, 2)
    o.step()
    tell(o._opt_called)
    s.step()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda L, o: L.StepLR(3, 2),
        lambda L, o: L.StepLR(o, 2, last_epoch=3),
        lambda L, o: L.StepLR(o, 2, verbose=True),
        lambda L, o: L.LRScheduler(o),
        lambda L, o: L.LambdaLR(o, [abs]),
        lambda L, o: L.MultiplicativeLR(o, 3),
        lambda L, o: L.ConstantLR(o, 2),
        lambda L, o: L.LinearLR(o, 0),
        lambda L, o: L.LinearLR(o, 0.5, 3),
        lambda L, o: L.OneCycleLR(o, 0.1),
        lambda L, o: L.OneCycleLR(o, 0.1, -1),
        lambda L, o: L.OneCycleLR(o, 0.1, 3.5),
        lambda L, o: L.OneCycleLR(o, 0.1, epochs=-1, steps_per_epoch=2),
        lambda L, o: L.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=0),
        lambda L, o: L.OneCycleLR(o, 0.1, 9, pct_start=2),
        lambda L, o: L.OneCycleLR(o, 0.1, 9, anneal_strategy="x"),
        lambda L, o: L.OneCycleLR(o, [0.1], 9),
        lambda L, o: L.CyclicLR(o, [0.1], 0.2),
        lambda L, o: L.CyclicLR(o, 0.1, [0.2] * 3),
        lambda L, o: L.CyclicLR(o, 0.1, 0.2, mode="x"),
        lambda L, o: L.CyclicLR("x", 0.1, 0.2),
        lambda L, o: L.CosineAnnealingWarmRestarts(o, 0),
        lambda L, o: L.CosineAnnealingWarmRestarts(o, 1, 0),
        lambda L, o: L.CosineAnnealingWarmRestarts(o, 1, 1, "x"),
        lambda L, o: L.CosineAnnealingWarmRestarts(o, 1).step(-1),
        lambda L, o: L.ReduceLROnPlateau(o, factor=1.0),
        lambda L, o: L.ReduceLROnPlateau(o, "x"),
        lambda L, o: L.ReduceLROnPlateau(o, threshold_mode="x"),
        lambda L, o: L.ReduceLROnPlateau(o, min_lr=[1]),
        lambda L, o: L.ReduceLROnPlateau(3),
        lambda L, o: L.SequentialLR(o, [], []),
        lambda L, o: L.SequentialLR(o, [L.StepLR(o, 2)], [1]),
        lambda L, o: L.SequentialLR(o, [3], []),
        lambda L, o: L.SequentialLR(o, [L.ReduceLROnPlateau(o)], []),
        lambda L, o: L.ChainedScheduler([]),
        lambda L, o: L.SequentialLR(o, [L.StepLR(copy.deepcopy(o), 2)], []),
        lambda L, o: L.ChainedScheduler([L.StepLR(o, 2), L.StepLR(copy.deepcopy(o), 2)]),
    ],
)
def test_bad_arguments(wrong: Any) -> None:
    agree(lambda torch, tell: wrong(torch.optim.lr_scheduler, optimizer(torch)) and None)


@same_story
def test_momentum_must_be_there_to_cycle(torch: Any, tell: Any) -> None:
    o = optimizer(torch, "Adagrad")
    tell(torch.optim.lr_scheduler.CyclicLR(o, 0.1, 0.2, cycle_momentum=False).get_last_lr())
    torch.optim.lr_scheduler.OneCycleLR(o, 0.1, 10)


@same_story
def test_objects_as_functions_are_saved(torch: Any, tell: Any) -> None:
    class Fade:
        def __init__(self, rate: float) -> None:
            self.rate = rate

        def __call__(self, epoch: int) -> float:
            return self.rate**epoch

    s = torch.optim.lr_scheduler.LambdaLR(optimizer(torch), [Fade(0.5), lambda epoch: 1.0])
    tell(s.state_dict())
    t = torch.optim.lr_scheduler.LambdaLR(optimizer(torch), [Fade(0.9), lambda epoch: 2.0])
    t.load_state_dict(s.state_dict())
    t.optimizer.step()
    t.step()
    tell(t.get_last_lr())


@same_story
def test_swa_rates(torch: Any, tell: Any) -> None:
    SWALR = torch.optim.swa_utils.SWALR
    for options in ({}, {"anneal_epochs": 0}, {"anneal_epochs": 3, "anneal_strategy": "linear"}, {"anneal_epochs": 1}):
        o = optimizer(torch)
        s = SWALR(o, [0.05, 0.01], **options)
        for _ in range(6):
            o.step()
            s.step()
            tell(s.get_last_lr())
        tell(s.state_dict())
    with pytest.raises(ValueError, match="anneal_strategy"):
        SWALR(o, 0.1, anneal_strategy="x")
    SWALR(o, 0.1, anneal_epochs=-1)


@same_story
def test_averaged_models(torch: Any, tell: Any) -> None:
    swa = torch.optim.swa_utils
    for options in (
        {}, {"avg_fn": swa.get_ema_avg_fn(0.9)}, {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
        {"avg_fn": swa.get_swa_avg_fn()}, {"multi_avg_fn": swa.get_swa_multi_avg_fn(), "use_buffers": True},
        {"avg_fn": lambda average, value, count: average + value * count},
    ):  # fmt: skip
        model = torch.nn.Linear(2, 2)
        model.register_buffer("seen", torch.zeros(2))
        for p in model.parameters():
            torch.nn.init.constant_(p, 1.0)
        averaged = swa.AveragedModel(model, **options)
        for i in range(4):
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(i)
                model.seen += 1
            averaged.update_parameters(model)
        tell(list(averaged.state_dict().items()), averaged(torch.ones(1, 2)))
    tell(averaged)
    with pytest.raises(ValueError, match="decay"):
        swa.get_ema_multi_avg_fn(2.0)
    swa.AveragedModel(model, avg_fn=swa.get_ema_avg_fn(), multi_avg_fn=swa.get_ema_multi_avg_fn())


def test_schedules_can_be_copied() -> None:
    import torchlite as torch

    o = optimizer(torch)
    s = torch.optim.lr_scheduler.StepLR(o, 2)
    o.step()
    s.step()
    t = copy.deepcopy(s)
    assert t.optimizer is not o
    t.optimizer.step()
    t.step()
    assert t.get_last_lr() != s.get_last_lr() and o.param_groups[0]["lr"] == s.get_last_lr()[0]
    assert pickle.loads(pickle.dumps(o)).param_groups[0]["lr"] == o.param_groups[0]["lr"]


@same_story
def test_statistics_of_batches_anew(torch: Any, tell: Any) -> None:
    norm = torch.nn.BatchNorm1d(2)
    model = torch.nn.Sequential(norm, torch.nn.Identity()).eval()
    batches = [torch.arange(6.0).reshape(3, 2) * i for i in range(1, 4)]
    torch.optim.swa_utils.update_bn([(batch, "label") for batch in batches], model)
    tell(norm.running_mean, norm.running_var, norm.num_batches_tracked, norm.momentum, model.training)
