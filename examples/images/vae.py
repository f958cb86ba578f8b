"""A variational autoencoder of handwritten digits: images from a few normally distributed numbers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
from digits import digits, show
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, latent: int = 8, hidden: int = 128) -> None:
        super().__init__()
        self.fc1 = nn.Linear(64, hidden)
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, 64)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = F.relu(self.fc1(x))
        return self.mean(hidden), self.log_variance(hidden)

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.encode(x)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decode(z), mean, log_variance


def loss_of(reconstruction: Tensor, x: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """How badly the image came back, and how far the code is from a standard normal one, both in nats an image."""
    bad = F.binary_cross_entropy(reconstruction, x, reduction="sum")
    far = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (bad + far) / len(x)


def endless(loader: DataLoader[Any]) -> Iterator[list[Tensor]]:
    """Batch after batch, epoch after epoch."""
    while True:
        yield from loader


def main(steps: int) -> None:
    torch.manual_seed(0)
    images, _ = digits()
    loader = DataLoader(TensorDataset(images.flatten(1)), batch_size=128, shuffle=True, drop_last=True)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    for step, (x,) in zip(range(steps), endless(loader)):
        reconstruction, mean, log_variance = model(x)
        loss = loss_of(reconstruction, x, mean, log_variance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.5f}")

    with torch.no_grad():
        show(*model.decode(torch.randn(6, 8)).view(6, 8, 8))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Variational autoencoder")
    parser.add_argument("--steps", type=int, default=400)
    main(parser.parse_args().steps)
