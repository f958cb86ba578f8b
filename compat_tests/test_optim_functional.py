"""The functional forms of the optimizers, and the layout of `torch.optim`."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

import torchlite

from .side_by_side import same, same_story, story

_ADAM = {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8}
_AMSGRAD = {**_ADAM, "amsgrad": True, "maximize": False}
# The function, how many lists of state like the parameters it takes, how many of numbers, and its options.
FORMS: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "adadelta": ("adadelta", 2, 1, {"lr": 0.1, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1, "maximize": True}),
    "adagrad": ("adagrad", 1, 1, {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.1, "eps": 1e-8, "maximize": False}),
    "adam": ("adam", 3, 1, _AMSGRAD),
    "adam, decoupled": ("adam", 3, 1, {**_AMSGRAD, "decoupled_weight_decay": True, "maximize": True}),
    "adamw": ("adamw", 3, 1, _AMSGRAD),
    "adamax": ("adamax", 2, 1, _ADAM),
    "asgd": ("asgd", 1, 3, {"lambd": 1e-4, "lr": 0.1, "t0": 1.0, "alpha": 0.75, "weight_decay": 0.1}),
    "nadam": ("nadam", 2, 2, {**_ADAM, "momentum_decay": 4e-3}),
    "radam": ("radam", 2, 1, _ADAM),
    "rmsprop": (
        "rmsprop", 3, 1,
        {"lr": 0.1, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.9, "centered": True},
    ),
    "rprop": ("rprop", 2, 1, {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2}),
    "sgd": (
        "sgd", 1, 0,
        {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.5, "nesterov": False, "maximize": False},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_three_steps_on_lists(form: str) -> None:
    torch = pytest.importorskip("torch")
    name, like, numbers, options = FORMS[form]

    def program(torch: Any, tell: Any) -> None:
        function = getattr(importlib.import_module(f"{torch.__name__}.optim.{name}"), name)
        params = [torch.arange(6.0).reshape(2, 3), torch.ones(4)]
        state = [[torch.full_like(p, 0.25) for p in params] for _ in range(like)]
        counts = [[torch.tensor(1.0) for _ in params] for _ in range(numbers)]
        for i in range(3):
            grads = [(p + i).sin() for p in params]
            tell(function(params, grads, *state, *counts, **options))
            tell(params, state, counts)

    for wanted, found in zip(story(program, torch), story(program, torchlite), strict=True):
        assert same(wanted, found), f"{wanted}\n{found}"


@pytest.mark.parametrize("name", [*{form[0] for form in FORMS.values()}, "_adafactor"])
def test_signatures(name: str) -> None:
    pytest.importorskip("torch")
    wanted, found = (
        inspect.signature(getattr(importlib.import_module(f"{library}.optim.{name}"), name.strip("_"))).parameters
        for library in ("torch", "torchlite")
    )
    assert list(found) == list(wanted)
    for a, b in zip(found.values(), wanted.values()):
        assert (a.kind, a.default) == (b.kind, b.default)


@same_story
def test_sgd_makes_the_momentum_that_is_missing(torch, tell):
    sgd = importlib.import_module(f"{torch.__name__}.optim.sgd").sgd
    params, buffers = [torch.ones(2), torch.zeros(3)], [None, torch.ones(3)]
    options = {"weight_decay": 0.0, "momentum": 0.9, "lr": 0.1, "dampening": 0.5, "nesterov": True, "maximize": False}
    sgd(params, [torch.ones(2), torch.ones(3)], buffers, **options)
    tell(params, buffers)


@same_story
def test_steps_must_be_tensors(torch, tell):
    adam = importlib.import_module(f"{torch.__name__}.optim.adam").adam
    one = [torch.ones(1)]
    options = {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8}
    adam(one, one, one, one, [], [1], amsgrad=False, maximize=False, **options)


@same_story
def test_adafactor_on_lists(torch, tell):
    adafactor = importlib.import_module(f"{torch.__name__}.optim._adafactor").adafactor
    params = [torch.arange(6.0).reshape(2, 3), torch.ones(4)]
    rows, columns, variances = [torch.ones(2, 1), None], [torch.ones(1, 3), None], [None, torch.ones(4)]
    steps = [torch.tensor(1.0), torch.tensor(1.0)]
    adafactor(
        params, [p.cos() for p in params], rows, columns, variances, steps,
        d=1.0, lr=0.1, beta2_decay=-0.8, weight_decay=0.1, eps1=None, eps2=1e-3, maximize=False,
    )  # fmt: skip
    tell(params, rows, columns, variances, steps)


@same_story
def test_layout(torch, tell):
    functional = importlib.import_module(f"{torch.__name__}.optim._functional")
    tell(functional.adam is importlib.import_module(f"{torch.__name__}.optim.adam").adam)
    multi = importlib.import_module(f"{torch.__name__}.optim._multi_tensor")
    optimizer = multi.Adam([torch.ones(1, requires_grad=True)], lr=0.1)
    tell(isinstance(optimizer, torch.optim.Adam), optimizer.param_groups[0]["foreach"])


@same_story
def test_swapping_in_parameters_and_state(torch, tell):
    layer = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    layer(torch.ones(2)).sum().backward()
    optimizer.step()
    kept = optimizer.state_dict()
    mine = torch.nn.Parameter(torch.zeros(1, 2))
    mine.grad = torch.full((1, 2), 2.0)
    state = {"state": {0: {"momentum_buffer": torch.zeros(1, 2)}}, "param_groups": kept["param_groups"]}
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"weight": mine}, state):
        tell(optimizer.param_groups[0]["params"][0] is mine)
        optimizer.step()
    tell(mine, state["state"][0], layer.weight, optimizer.param_groups[0]["params"][0] is layer.weight)
    tell(optimizer.state[layer.weight])
