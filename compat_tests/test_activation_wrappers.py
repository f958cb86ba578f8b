"""Modules wrapped to be run again, or to keep what backward needs elsewhere: PyTorch's names, states and gradients."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import pytest

from compat_tests.side_by_side import same_story


def _wrappers(torch):
    return import_module(f"{torch.__name__}.distributed.algorithms._checkpoint.checkpoint_wrapper")


def _model(torch):
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), nn.Linear(4, 1))


def _trained(torch, tell, model):
    x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
    torch.manual_seed(1)
    made = model(x)
    made.sum().backward()
    tell(made, x.grad, [(name, p.grad) for name, p in model.named_parameters()])


WRAPPERS = {
    "again": lambda lib, w: w.checkpoint_wrapper,
    "by a pass of its own": lambda lib, w: partial(w.checkpoint_wrapper, checkpoint_impl=w.CheckpointImpl.REENTRANT),
    "elsewhere": lambda lib, w: w.offload_wrapper,
    "by a function": lambda lib, w: partial(w.checkpoint_wrapper, checkpoint_fn=lambda f, *a, **k: f(*a, **k)),
    "as told": lambda lib, w: partial(w.checkpoint_wrapper, preserve_rng_state=True),
}


@pytest.mark.parametrize("how", WRAPPERS)
def test_wrapped_modules(how):
    @same_story
    def program(torch, tell):
        wrappers = _wrappers(torch)
        model = _model(torch)
        wrap = WRAPPERS[how](torch, wrappers)
        wrappers.apply_activation_checkpointing(model, wrap, check_fn=lambda m: isinstance(m, torch.nn.Linear))
        tell(str(model), list(model.state_dict()), [name for name, _ in model[0].named_parameters()])
        _trained(torch, tell, model)

    program()


POLICIES = {
    "all": lambda lib: {},
    "of a class": lambda lib: {"check_fn": lambda m: isinstance(m, lib.nn.Sequential)},
    "by a policy": lambda lib: {
        "auto_wrap_policy": partial(
            import_module(f"{lib.__name__}.distributed.fsdp.wrap").size_based_auto_wrap_policy, min_num_params=16
        )
    },
    "no policy": lambda lib: {"auto_wrap_policy": 3},
}


@pytest.mark.parametrize("which", POLICIES)
def test_which_modules_are_wrapped(which):
    @same_story
    def program(torch, tell):
        model = _model(torch)
        _wrappers(torch).apply_activation_checkpointing(model, **POLICIES[which](torch))
        tell(str(model), list(model.state_dict()))
        _trained(torch, tell, model)

    program()


@same_story
def test_a_wrapper_is_called_by_the_names_of_its_module(torch, tell):
    wrappers = _wrappers(torch)
    plain = _model(torch)
    wrapped = wrappers.checkpoint_wrapper(_model(torch))
    wrapped.load_state_dict({name: p + 1 for name, p in plain.state_dict().items()})
    tell(wrapped[0].weight, wrapped[2][0].bias, list(wrapped.state_dict(prefix="model.")))
    inner = wrappers.CheckpointWrapper(torch.nn.Linear(2, 2))
    tell(inner.in_features, inner._checkpoint_wrapped_module is inner._modules["_checkpoint_wrapped_module"])
    tell(list(torch.nn.ModuleDict({"a": inner}).state_dict()))
    with pytest.raises(AttributeError):
        getattr(inner, "nothing of this name")


@same_story
def test_arguments_by_name(torch, tell):
    class Scaled(torch.nn.Module):
        def forward(self, x, *, by, plus=0.0):
            return x * by + plus

    wrappers = _wrappers(torch)
    for way in wrappers.CheckpointImpl:
        x, by = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        wrappers.checkpoint_wrapper(Scaled(), way)(x, by=by, plus=1.0).sum().backward()
        tell(way.name, way.value, x.grad, by.grad)


@same_story
def test_a_wrapper_is_abstract(torch, tell):
    _wrappers(torch).ActivationWrapper(torch.nn.Linear(1, 1))
