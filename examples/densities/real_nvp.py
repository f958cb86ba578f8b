"""A normalising flow (RealNVP): invertible steps from a normal distribution to two interleaved moons.

Each step moves one coordinate by amounts that depend on the other, so it can be inverted, and the determinant of its
Jacobian is a product. Hence the exact likelihood of the data, which is what is maximised.
"""

from __future__ import annotations

import argparse
import math

import torch
from torch import Tensor, nn
from torch.distributions import Independent, Normal


class Coupling(nn.Module):
    """Scales and shifts the coordinates where `mask` is 0, by what a network makes of the others."""

    def __init__(self, mask: Tensor, hidden: int = 48) -> None:
        super().__init__()
        self.register_buffer("mask", mask)
        self.network = nn.Sequential(
            nn.Linear(2, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 4)
        )
        nn.init.zeros_(self.network[-1].weight)
        nn.init.zeros_(self.network[-1].bias)

    def parts(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        log_scale, shift = self.network(kept).chunk(2, dim=1)
        return torch.tanh(log_scale) * (1 - self.mask), shift * (1 - self.mask)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Towards the normal distribution, with the logarithm of the determinant."""
        log_scale, shift = self.parts(x * self.mask)
        return x * log_scale.exp() + shift, log_scale.sum(dim=1)

    def inverse(self, z: Tensor) -> Tensor:
        log_scale, shift = self.parts(z * self.mask)
        return (z - shift) * torch.exp(-log_scale)


class Flow(nn.Module):
    def __init__(self, steps: int = 6) -> None:
        super().__init__()
        masks = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        self.couplings = nn.ModuleList(Coupling(masks[n % 2]) for n in range(steps))
        self.base = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)

    def log_prob(self, x: Tensor) -> Tensor:
        total = 0.0
        for coupling in self.couplings:
            x, log_det = coupling(x)
            total = total + log_det
        return self.base.log_prob(x) + total

    @torch.no_grad()
    def sample(self, count: int) -> Tensor:
        x = self.base.sample((count,))
        for coupling in reversed(self.couplings):
            x = coupling.inverse(x)
        return x


def moons(count: int) -> Tensor:
    """Points on two half circles, one reaching into the other."""
    angle = math.pi * torch.rand(count)
    upper = torch.rand(count) < 0.5
    x = torch.where(upper, angle.cos(), 1 - angle.cos())
    y = torch.where(upper, angle.sin(), 0.5 - angle.sin())
    return torch.stack([x - 0.5, y - 0.25], dim=1) + 0.08 * torch.randn(count, 2)


def main(steps: int) -> None:
    torch.manual_seed(0)
    flow = Flow()
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995)

    for step in range(steps):
        loss = -flow.log_prob(moons(256)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    places = (flow.sample(2000) / torch.tensor([1.8, -1.2]) + 1).clamp(0, 1.99) * torch.tensor([15, 6])
    column, row = places.long().unbind(dim=1)
    counts = torch.bincount(row * 30 + column, minlength=360).view(12, 30)
    print("samples of the flow:")
    for line in counts.div(6).clamp(max=4).int().tolist():
        print("  " + "".join(" .+%#"[shade] for shade in line))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Normalising flow")
    parser.add_argument("--steps", type=int, default=400)
    main(parser.parse_args().steps)
