"""Models of several kinds train as they do in PyTorch: the same losses and gradients from one seed, step for step."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest

import torchlite

torch = pytest.importorskip("torch", reason="live comparisons need real PyTorch")

STEPS = 20
OPTIMIZERS = {
    "SGD": {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3},
    "AdamW": {"lr": 1e-3, "weight_decay": 0.05},
}


class Training:
    def __init__(self, library: Any, model: str, optimizer: str) -> None:
        library.manual_seed(3)
        self.library = library
        self.module, self.loss = importlib.import_module(f"{__package__}.models.{model}").build(library)
        self.stepper = getattr(library.optim, optimizer)(self.module.parameters(), **OPTIMIZERS[optimizer])

    def gradients(self) -> tuple[float, dict[str, np.ndarray]]:
        self.stepper.zero_grad()
        value = self.loss()
        value.backward()
        return value.item(), {name: p.grad.numpy().copy() for name, p in self.module.named_parameters()}

    def step(self) -> None:
        self.library.nn.utils.clip_grad_norm_(self.module.parameters(), 5.0)
        self.stepper.step()

    def parameters(self) -> dict[str, np.ndarray]:
        return {name: p.detach().numpy() for name, p in self.module.named_parameters()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", ["resnet", "unet", "lstm", "vit", "gpt"])
def test_trains_alike(model: str, optimizer: str) -> None:
    """Each step begins where PyTorch's does: else rounding grows until a ReLU or a maximum is decided otherwise."""
    theirs, ours = Training(torch, model, optimizer), Training(torchlite, model, optimizer)
    for step in range(STEPS):
        (wanted, wanted_grads), (found, grads) = theirs.gradients(), ours.gradients()
        assert found == pytest.approx(wanted, rel=1e-5), f"the loss of step {step}"
        assert grads.keys() == wanted_grads.keys()
        largest = max(np.abs(g).max() for g in wanted_grads.values())
        for name, g in wanted_grads.items():
            assert far(grads[name], g, largest) < 1e-4, f"the gradient of {name} at step {step}"
        before = {name: p.copy() for name, p in theirs.parameters().items()}
        theirs.step()
        ours.step()
        after, found_after = theirs.parameters(), ours.parameters()
        moved = math.hypot(*[np.linalg.norm(after[name] - p) for name, p in before.items()])
        apart = math.hypot(*[np.linalg.norm(after[name] - p) for name, p in found_after.items()])
        assert apart <= 0.1 * moved, f"step {step}"  # Adam goes by the sign even of what is zero but for rounding
        for name, p in found_after.items():
            p[...] = after[name]


def far(found: np.ndarray, wanted: np.ndarray, largest: float) -> float:
    """How far two gradients are apart, as vectors; rounding in one that is all but zero counts for nothing."""
    return float(np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-3 * largest))
