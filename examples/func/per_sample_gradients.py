"""The gradient of every sample's loss by itself: `vmap` of `grad`, and what one needs it for.

Run with PyTorch, or with `python -m torchlite examples/func/per_sample_gradients.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import grad, vmap


def predict(params: dict[str, Tensor], x: Tensor) -> Tensor:
    hidden = torch.tanh(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params: dict[str, Tensor], x: Tensor, label: Tensor) -> Tensor:
    """Cross entropy of one sample."""
    return -torch.log_softmax(predict(params, x), -1).gather(-1, label.unsqueeze(-1)).sum()


def clipped_mean(gradients: dict[str, Tensor], limit: float) -> dict[str, Tensor]:
    """The mean of the samples' gradients, none longer than `limit`, as differentially private SGD takes it."""
    flat = torch.cat([g.flatten(1) for g in gradients.values()], 1)
    factor = (limit / flat.norm(dim=1)).clamp(max=1.0)
    return {name: torch.einsum("b,b...->...", factor, g) / len(factor) for name, g in gradients.items()}


def main() -> None:
    torch.manual_seed(0)
    x, labels = torch.randn(64, 10), torch.randint(0, 3, (64,))
    params = {
        "w1": torch.randn(10, 16) * 0.3, "b1": torch.zeros(16), "w2": torch.randn(16, 3) * 0.3, "b2": torch.zeros(3),
    }  # fmt: skip

    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, labels)
    for name, gradient in per_sample.items():
        print(f"{name}: {tuple(gradient.shape)}, norms from {gradient.flatten(1).norm(dim=1).min():.4f}")

    one_by_one = [grad(loss)(params, sample, label)["w1"] for sample, label in zip(x, labels)]
    print("as one by one:", torch.allclose(per_sample["w1"], torch.stack(one_by_one), atol=1e-6))

    whole = grad(lambda p: vmap(loss, in_dims=(None, 0, 0))(p, x, labels).mean())(params)
    print("their mean is the gradient:", torch.allclose(per_sample["w2"].mean(0), whole["w2"], atol=1e-6))

    for step in range(20):
        per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, labels)
        mean = clipped_mean(per_sample, 1.0)
        params = {name: p - 0.5 * mean[name] for name, p in params.items()}
        if step % 5 == 0:
            print(f"step {step}: loss {vmap(loss, in_dims=(None, 0, 0))(params, x, labels).mean():.4f}")


if __name__ == "__main__":
    main()
