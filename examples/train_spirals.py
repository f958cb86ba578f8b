"""Tell two interleaved spirals apart: a perceptron with two hidden layers, trained by hand-written SGD with momentum.

Nothing here knows of torchlite. Run it with PyTorch, or with torchlite in PyTorch's place:

    python examples/train_spirals.py
    python -m torchlite examples/train_spirals.py
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

POINTS, HIDDEN, EPOCHS = 100, 64, 300
LEARNING_RATE, MOMENTUM = 0.2, 0.9


def spirals(points: int) -> tuple[Tensor, Tensor]:
    """Two spirals of `points` points each, slightly noisy: coordinates (2 * points, 2), labels 0.0 or 1.0."""
    radius = torch.linspace(0.1, 1.0, points)
    angle = radius * 3 * math.pi
    arm = torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)
    inputs = torch.cat([arm, -arm])
    inputs += 0.01 * torch.randn(2 * points, 2)
    labels = torch.zeros(2 * points)
    labels[points:] = 1.0
    return inputs, labels


def linear(inputs: int, outputs: int) -> list[Tensor]:
    """Weights and biases of a fully connected layer, initialised so that activations keep their scale."""
    weight = torch.randn(inputs, outputs) * math.sqrt(2 / inputs)
    return [weight.requires_grad_(), torch.zeros(outputs, requires_grad=True)]


def model(inputs: Tensor, parameters: list[Tensor]) -> Tensor:
    """One logit per input point."""
    w1, b1, w2, b2, w3, b3 = parameters
    hidden = torch.relu(inputs @ w1 + b1)
    hidden = torch.tanh(hidden @ w2 + b2)
    return (hidden @ w3 + b3).squeeze(1)


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy on logits, in the form that cannot overflow."""
    return (logits.clamp(min=0) - logits * labels + torch.log1p(torch.exp(-logits.abs()))).mean()


def step(parameters: list[Tensor], velocities: list[Tensor]) -> None:
    """One update of every parameter, in place; gradients are used up."""
    with torch.no_grad():
        for parameter, velocity in zip(parameters, velocities):
            assert parameter.grad is not None
            velocity.mul_(MOMENTUM).add_(parameter.grad)
            parameter -= LEARNING_RATE * velocity
            parameter.grad = None


def main() -> None:
    torch.manual_seed(0)
    inputs, labels = spirals(POINTS)
    parameters = linear(2, HIDDEN) + linear(HIDDEN, HIDDEN) + linear(HIDDEN, 1)
    velocities = [torch.zeros_like(parameter) for parameter in parameters]

    for epoch in range(EPOCHS + 1):
        logits = model(inputs, parameters)
        loss = loss_of(logits, labels)
        if epoch % 50 == 0:
            accuracy = ((logits > 0) == (labels > 0.5)).float().mean()
            print(f"epoch {epoch:3d}  loss {loss.item():.4f}  accuracy {accuracy.item():.1%}")
        loss.backward()
        step(parameters, velocities)


if __name__ == "__main__":
    main()
