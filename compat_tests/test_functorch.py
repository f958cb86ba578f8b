"""`functorch`, the first home of the transforms, beside real PyTorch's."""

from __future__ import annotations

import importlib
import warnings

import pytest

from .side_by_side import same_story


def _of(torch):
    name = "functorch" if torch.__name__ == "torch" else "torchlite.functorch"
    return importlib.import_module(name)


@pytest.fixture(autouse=True)
def _silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@same_story
def test_modules_as_functions(torch, tell):
    functorch = _of(torch)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    function, params, buffers = functorch.make_functional_with_buffers(model)
    tell(type(function).__module__, repr(function), function(params, buffers, torch.randn(4, 2)))
    layer = torch.nn.Linear(2, 3)
    function, params = functorch.make_functional(layer)
    tell(params, params[0] is layer.weight, functorch.grad(lambda p, x: function(p, x).sum())(params, torch.ones(2)))
    function, params = functorch.make_functional(layer, disable_autograd_tracking=True)
    tell([p.requires_grad for p in params])
    functorch.make_functional(model)


@same_story
def test_ensembles(torch, tell):
    functorch = _of(torch)
    torch.manual_seed(0)
    function, params, buffers = functorch.combine_state_for_ensemble([torch.nn.Linear(2, 3) for _ in range(3)])
    tell(params, buffers, functorch.vmap(function, (0, 0, None))(params, buffers, torch.ones(5, 2)))
    for models in ([], [torch.nn.ReLU(), torch.nn.ReLU().eval()], [torch.nn.ReLU(), torch.nn.Tanh()]):
        with pytest.raises(RuntimeError) as refusal:
            functorch.combine_state_for_ensemble(models)
        tell(str(refusal.value))


@same_story
def test_transforms_say_that_they_move(torch, tell):
    functorch = _of(torch)
    for name in ("grad", "jacrev"):
        tell(getattr(functorch, name)(lambda x: (x**3).sum())(torch.ones(2)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        functorch.vmap(torch.sin)(torch.ones(2))
        functorch.vjp(torch.sin, torch.ones(2))
    tell([(w.category, str(w.message)) for w in caught])
