"""What one step of an optimizer costs in torchlite and in PyTorch, whose plain, foreach and fused forms are tried.

    python -m bench.optim

On one thread; the libraries take turns, and the times shown are the fastest rounds'. Ratios are torchlite's time over
PyTorch's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

import torchlite

MODELS = {
    "10 of 4x4": [(4, 4)] * 10,
    "100 of 4x4": [(4, 4)] * 100,
    "1000 of 4x4": [(4, 4)] * 1000,
    "5 layers 64-64": [(64, 64), (64,)] * 5,
    "784-256-128-10": [(256, 784), (256,), (128, 256), (128,), (10, 128), (10,)],
}
OPTIMIZERS: dict[str, dict[str, Any]] = {"SGD": {"momentum": 0.9}, "Adam": {}, "AdamW": {}}
FORMS: dict[str, dict[str, Any]] = {"plain": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


def step_of(library: Any, name: str, shapes: list[tuple[int, ...]], options: dict[str, Any]) -> Callable[[], Any]:
    params = [library.rand(*shape).requires_grad_() for shape in shapes]
    for p in params:
        p.grad = library.rand(*p.shape)
    return getattr(library.optim, name)(params, lr=1e-5, **options).step


def fastest(steps: list[Callable[[], Any]], rounds: int, count: int) -> list[float]:
    """Microseconds a call."""
    best = [float("inf")] * len(steps)
    for _ in range(rounds):
        for i, step in enumerate(steps):
            start = time.process_time()
            for _ in range(count):
                step()
            best[i] = min(best[i], (time.process_time() - start) / count * 1e6)
    return best


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'parameters':16} {'':6} {'µs':>7}" + "".join(f"{form:>16}" for form in FORMS))
    for model, shapes in MODELS.items():
        for name, options in OPTIMIZERS.items():
            steps = [step_of(torchlite, name, shapes, options)]
            steps += [step_of(torch, name, shapes, {**options, **form}) for form in FORMS.values()]
            own, *others = fastest(steps, rounds=10, count=max(2, 500 // len(shapes)))
            shown = "".join(f"{other:9.1f} ({own / other:.2f})" for other in others)
            print(f"{model:16} {name:6} {own:7.1f}{shown}")


if __name__ == "__main__":
    main()
