"""Models of several kinds train as they do in PyTorch: the same losses and gradients from one seed, step for step."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import torchlite

torch = pytest.importorskip("torch", reason="live comparisons need real PyTorch")

STEPS, CLOSE = 20, 5
OPTIMIZERS = {
    "SGD": {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3},
    "AdamW": {"lr": 1e-3, "weight_decay": 0.05},
}


def training(library: Any, model: str, optimizer: str) -> Iterator[tuple[float, dict[str, np.ndarray]]]:
    """The loss and the gradients of each step."""
    library.manual_seed(3)
    module, loss = importlib.import_module(f"{__package__}.models.{model}").build(library)
    stepper = getattr(library.optim, optimizer)(module.parameters(), **OPTIMIZERS[optimizer])
    for _ in range(STEPS):
        stepper.zero_grad()
        value = loss()
        value.backward()
        yield value.item(), {name: p.grad.numpy().copy() for name, p in module.named_parameters()}
        library.nn.utils.clip_grad_norm_(module.parameters(), 5.0)
        stepper.step()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", ["resnet", "unet", "lstm", "vit", "gpt"])
def test_trains_alike(model: str, optimizer: str) -> None:
    both = zip(training(torch, model, optimizer), training(torchlite, model, optimizer), strict=True)
    for step, ((wanted, wanted_grads), (found, grads)) in enumerate(both):
        allowed = 1e-4 if step < CLOSE else 2e-2
        assert found == pytest.approx(wanted, rel=allowed), f"the loss of step {step}"
        assert grads.keys() == wanted_grads.keys()
        largest = max(np.abs(g).max() for g in wanted_grads.values())
        for name, g in wanted_grads.items():
            assert far(grads[name], g, largest) < allowed, f"the gradient of {name} at step {step}"


def far(found: np.ndarray, wanted: np.ndarray, largest: float) -> float:
    """How far two gradients are apart, as vectors; rounding in one that is all but zero counts for nothing."""
    return float(np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-3 * largest))
