"""Stop halfway, save everything to a file, and go on as if nothing had happened.

A checkpoint holds the model, the optimizer, the learning-rate schedule, the state of the random numbers, and an
exponential moving average of the weights (EMA), which is less noisy than they are and predicts better.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

FUNCTIONS = 3


class Run:
    """A training run whose whole state can be saved and loaded."""

    def __init__(self, steps: int) -> None:
        self.model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Dropout(0.05), nn.Linear(64, FUNCTIONS))
        self.average = AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(0.98))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.02, weight_decay=0.01)
        warmup = lr_scheduler.LinearLR(self.optimizer, 0.1, total_iters=20)
        decay = lr_scheduler.CosineAnnealingLR(self.optimizer, 2 * steps)
        self.schedule = lr_scheduler.SequentialLR(self.optimizer, [warmup, decay], milestones=[20])
        self.step = 0

    def train_until(self, end: int) -> Iterator[float]:
        """Yields the loss of each step."""
        while self.step < end:
            x, y = samples(64)
            loss = nn.functional.mse_loss(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            self.average.update_parameters(self.model)
            self.step += 1
            yield loss.item()

    def save(self, path: Any) -> None:
        state = {part: getattr(self, part).state_dict() for part in ("model", "average", "optimizer", "schedule")}
        torch.save(state | {"step": self.step, "random": torch.get_rng_state()}, path)

    def load(self, path: Any) -> None:
        state = torch.load(path, weights_only=True)
        for part in ("model", "average", "optimizer", "schedule"):
            getattr(self, part).load_state_dict(state[part])
        self.step = state["step"]
        torch.set_rng_state(state["random"])


def samples(count: int) -> tuple[Tensor, Tensor]:
    """Noisy values of sin(x), sin(2x), … at random points."""
    x = torch.rand(count, 1) * 6 - 3
    y = torch.sin(x * torch.arange(1, FUNCTIONS + 1))
    return x, y + 0.3 * torch.randn_like(y)


@torch.no_grad()
def error(model: nn.Module) -> float:
    x = torch.linspace(-3, 3, 200).unsqueeze(1)
    return float(nn.functional.mse_loss(model.eval()(x), torch.sin(x * torch.arange(1, FUNCTIONS + 1))))


def main(steps: int) -> None:
    torch.manual_seed(0)
    run = Run(steps)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        losses = list(run.train_until(steps // 2))
        run.save(path)
        losses += run.train_until(steps)

        resumed = Run(steps)
        resumed.load(path)
        again = list(resumed.train_until(steps))

    for step, loss in enumerate(losses):
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss:.6f}")
    print("the resumed run repeats the losses exactly:", again == losses[steps // 2 :])
    print(f"error of the weights {error(run.model):.5f}, of their average {error(run.average):.5f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Saving and resuming a training run")
    parser.add_argument("--steps", type=int, default=400)
    main(parser.parse_args().steps)
