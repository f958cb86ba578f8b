"""A mixture density network: where one input has several possible outputs, predict a distribution over them.

The data are points (y, x) of a curve x(y) that folds back on itself; least squares would give the useless mean of its
branches. The network gives the weights, means and spreads of a mixture of normal distributions for every input.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.utils.data import DataLoader, TensorDataset

COMPONENTS = 5


class MixtureDensity(nn.Module):
    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.weights = nn.Linear(hidden, COMPONENTS)
        self.means = nn.Linear(hidden, COMPONENTS)
        self.spreads = nn.Linear(hidden, COMPONENTS)

    def forward(self, x: Tensor) -> Any:
        """The distribution of y, for each x."""
        hidden = self.hidden(x)
        components = Normal(self.means(hidden), nn.functional.softplus(self.spreads(hidden)) + 1e-3)
        return MixtureSameFamily(Categorical(logits=self.weights(hidden)), components)


def folded(count: int) -> tuple[Tensor, Tensor]:
    """x and y of noisy points on a curve with up to three y for an x."""
    y = torch.rand(count) * 2 - 1
    x = 0.7 * torch.sin(7.5 * y) + 0.5 * y + 0.05 * torch.randn(count)
    return x.unsqueeze(1), y


def endless(loader: DataLoader[Any]) -> Iterator[list[Tensor]]:
    """Batch after batch, epoch after epoch."""
    while True:
        yield from loader


def main(steps: int) -> None:
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*folded(2560)), batch_size=256, shuffle=True)
    model = MixtureDensity()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    for step, (x, y) in zip(range(steps), endless(loader)):
        loss = -model(x).log_prob(y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    with torch.no_grad():
        mixture = model(torch.tensor([[-0.5], [0.0], [0.5]]))
    weights, means = mixture.mixture_distribution.probs, mixture.component_distribution.mean
    for at, w, m, spread in zip((-0.5, 0.0, 0.5), weights.tolist(), means.tolist(), mixture.stddev.tolist()):
        likely = ", ".join(f"{mean:+.2f} ({weight:.0%})" for weight, mean in zip(w, m) if weight > 0.1)
        print(f"x = {at:+.1f}: y near {likely}; standard deviation of all {spread:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Mixture density network")
    parser.add_argument("--steps", type=int, default=300)
    main(parser.parse_args().steps)
