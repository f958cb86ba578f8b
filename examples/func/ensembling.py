"""Many models at once: their parameters stacked, and one `vmap` that runs, or trains, all of them.

Run with PyTorch, or with `python -m torchlite examples/func/ensembling.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap


def make_model() -> dict[str, Tensor]:
    return {"w1": torch.randn(2, 24), "b1": torch.randn(24), "w2": torch.randn(24, 1) * 0.2, "b2": torch.zeros(1)}


def predict(params: dict[str, Tensor], x: Tensor) -> Tensor:
    return torch.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def loss(params: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
    return ((predict(params, x) - y) ** 2).mean()


def step(params: dict[str, Tensor], x: Tensor, y: Tensor, rate: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    gradient, value = grad_and_value(loss)(params, x, y)
    return {name: p - rate * gradient[name] for name, p in params.items()}, value


def main() -> None:
    torch.manual_seed(1)
    models = [make_model() for _ in range(8)]
    stacked = {name: torch.stack([m[name] for m in models]) for name in models[0]}
    x = torch.rand(128, 2) * 2 - 1
    y = (x[:, :1] * 3).sin() * x[:, 1:]

    together = vmap(predict, in_dims=(0, None))(stacked, x)
    apart = torch.stack([predict(m, x) for m in models])
    print("predictions:", tuple(together.shape), "as one by one:", torch.allclose(together, apart, atol=1e-6))

    own = x.reshape(8, 16, 2)
    print("each on data of its own:", tuple(vmap(predict)(stacked, own).shape))

    rates, losses = torch.linspace(0.002, 0.02, 8), torch.zeros(8)
    train = vmap(step, in_dims=(0, None, None, 0))
    for epoch in range(200):
        stacked, losses = train(stacked, x, y, rates)
        if epoch % 50 == 0:
            print(f"epoch {epoch}: losses from {losses.min():.4f} to {losses.max():.4f}")
    mean = vmap(predict, in_dims=(0, None))(stacked, x).mean(0)
    print(f"loss of the best: {losses.min():.4f}, of the mean prediction: {((mean - y) ** 2).mean():.4f}")


if __name__ == "__main__":
    main()
