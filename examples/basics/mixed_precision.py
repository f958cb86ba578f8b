"""Train in mixed precision: autocast computes layers in bfloat16, while weights and the optimizer stay in float32.

bfloat16 has the range of float32, so gradients need no scaling; the `GradScaler` shows where it stands in the loop, and
does nothing while it is not enabled. The same run in float32 comes first, for comparison.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import Tensor, nn


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Any:
        return x + self.narrow(nn.functional.relu(self.widen(self.norm(x))))


def train(steps: int, enabled: bool) -> None:
    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 4)).requires_grad_(False)
    model = nn.Sequential(nn.Linear(16, 32), Residual(32), Residual(32), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    for step in range(steps):
        inputs = torch.randn(128, 16)
        with torch.no_grad():
            targets = teacher(inputs).argmax(1)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            logits = model(inputs)
            loss = nn.functional.cross_entropy(logits, targets)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")
        if step == steps - 1:
            weight = model[0].weight
            print(f"logits were {logits.dtype}, weights {weight.dtype}, gradients {weight.grad.dtype}")


def main(steps: int) -> None:
    print("in float32")
    train(steps, enabled=False)
    print("with bfloat16")
    train(steps, enabled=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Mixed precision by autocast")
    parser.add_argument("--steps", type=int, default=200)
    main(parser.parse_args().steps)
