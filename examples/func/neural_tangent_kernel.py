"""The neural tangent kernel of a network, by Jacobians and by products with them, and what it predicts.

Run with PyTorch, or with `python -m torchlite examples/func/neural_tangent_kernel.py`.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor
from torch.func import jacrev, jvp, vjp, vmap


def predict(params: list[tuple[Tensor, Tensor]], x: Tensor) -> Tensor:
    for weight, bias in params[:-1]:
        x = torch.relu(weight @ x + bias) * (2 / len(bias)) ** 0.5
    weight, bias = params[-1]
    return weight @ x + bias


def by_jacobians(params: list[tuple[Tensor, Tensor]], xs: Tensor, others: Tensor) -> Tensor:
    """For every two points, the product of the Jacobians by the parameters there."""

    def jacobians(points: Tensor) -> list[Tensor]:
        found = vmap(jacrev(predict), in_dims=(None, 0))(params, points)
        return [j.flatten(2) for pair in found for j in pair]

    pairs = zip(jacobians(xs), jacobians(others))
    return torch.stack([torch.einsum("naf,mbf->nmab", a, b) for a, b in pairs]).sum(0)


def by_products(params: list[tuple[Tensor, Tensor]], xs: Tensor, others: Tensor) -> Any:
    """The same without a Jacobian in memory: what a push does to all that a pull gives."""

    def between(x: Tensor, other: Tensor) -> Any:
        def row(direction: Tensor) -> Any:
            _, pull = vjp(lambda params: predict(params, other), params)
            _, moved = jvp(lambda params: predict(params, x), (params,), pull(direction))
            return moved

        return vmap(row, out_dims=1)(torch.eye(2))

    return vmap(vmap(between, in_dims=(None, 0)), in_dims=(0, None))(xs, others)


def main() -> None:
    torch.manual_seed(4)
    sizes = [3, 64, 64, 2]
    params = [(torch.randn(m, n), torch.randn(m) * 0.1) for n, m in itertools.pairwise(sizes)]
    xs, others = torch.randn(12, 3), torch.randn(5, 3)

    kernel = by_jacobians(params, xs, others)
    print("kernel:", tuple(kernel.shape), f"norm {kernel.square().sum().sqrt():.2f}")
    print("by products:", torch.allclose(kernel, by_products(params, xs, others), rtol=1e-3, atol=1e-3))

    own = by_jacobians(params, xs, xs).permute(0, 2, 1, 3).reshape(24, 24)
    print("symmetric:", torch.allclose(own, own.t(), rtol=1e-4, atol=1e-3))

    targets = torch.stack([xs.sum(1).sin(), xs.prod(1)], 1).reshape(24)
    outputs = vmap(predict, in_dims=(None, 0))(params, xs).reshape(24)
    rate = 0.5 / own.diagonal().sum()
    for step in range(61):  # gradient descent on the training set, as the kernel sees it
        if step % 20 == 0:
            print(f"step {step}: error {(outputs - targets).square().mean():.4f}")
        outputs = outputs - rate * own @ (outputs - targets)


if __name__ == "__main__":
    main()
