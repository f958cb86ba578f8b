"""Steps over lists, in the calls that a dispatch mode sees, come to PyTorch's numbers."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import torchlite

torch = pytest.importorskip("torch")

OPTIONS = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}), ("Adam", {"amsgrad": True}), ("AdamW", {"maximize": True}),
    ("RAdam", {"betas": (0.1, 0.9)}), ("RAdam", {}), ("NAdam", {}), ("ASGD", {"t0": 3}), ("Rprop", {}), ("Adamax", {}),
    ("Rprop", {"maximize": True}), ("Adamax", {"maximize": True}), ("Adagrad", {"maximize": True, "weight_decay": 0.1}),
    ("ASGD", {"maximize": True, "weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1}), ("Adadelta", {}), ("RMSprop", {"centered": True, "momentum": 0.5}),
]  # fmt: skip


FUSED = [
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("AdamW", {"maximize": True}), ("Adagrad", {"lr_decay": 0.1}),
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}),
]  # fmt: skip


def stepped(lib, name, options):
    """What parameters of two kinds, and their state, come to."""
    base = importlib.import_module(f"{lib.__name__}.utils._python_dispatch").TorchDispatchMode

    class Plain(base):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    values = [lib.linspace(-1, 1, 6).reshape(2, 3), lib.linspace(1, 2, 4), lib.linspace(1, 2, 4).double()]
    params = [lib.nn.Parameter(v) for v in values]
    optimizer = getattr(lib.optim, name)(params, **options)
    with Plain():
        for i in range(12):
            optimizer.zero_grad()
            sum(((p + i).sin().sum().double() for p in params), lib.zeros(())).backward()
            optimizer.step()
    state = [{n: v.numpy() for n, v in optimizer.state[p].items() if v is not None} for p in params]
    return [p.detach().numpy() for p in params], state


@pytest.mark.parametrize(
    ("name", "options"),
    [*[(name, {**o, "foreach": True}) for name, o in OPTIONS], *[(name, {**o, "fused": True}) for name, o in FUSED]],
)
def test_steps_over_lists(name, options):
    (mine, my_state), (real, real_state) = (stepped(lib, name, options) for lib in (torchlite, torch))
    for a, b in zip(mine, real, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
    for a, b in zip(my_state, real_state, strict=True):
        assert a.keys() == b.keys()
        for key in a:
            np.testing.assert_allclose(a[key], b[key], rtol=2e-5, atol=2e-5)
