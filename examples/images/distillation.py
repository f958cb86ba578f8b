"""Knowledge distillation: a small network learns from a large one's opinions.

How a teacher spreads its belief over the wrong answers says what is similar to what; a temperature softens it, to show
more of that. And a teacher has an opinion on any image, while only 200 images come with labels for students.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import torch
from digits import digits
from torch import Tensor, nn
from torch.nn import functional as F

images, labels = digits()


def convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


def distillation_loss(logits: Tensor, teacher_logits: Tensor, temperature: float = 4.0) -> Tensor:
    student = F.log_softmax(logits / temperature, dim=1)
    teacher = F.log_softmax(teacher_logits / temperature, dim=1)
    return temperature**2 * F.kl_div(student, teacher, reduction="batchmean", log_target=True)


def train(model: nn.Module, count: int, steps: int, loss_of: Callable[..., Any]) -> None:
    """Trains on batches drawn from the first `count` images; `loss_of` takes logits and which images they are of."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for step in range(steps):
        batch = torch.randperm(count)[:64]
        loss = loss_of(model(images[batch]), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")


@torch.no_grad()
def accuracy(model: nn.Module) -> float:
    return float((model(images[1300:]).argmax(1) == labels[1300:]).float().mean())


def main(steps: int) -> None:
    torch.manual_seed(0)
    teacher = convolutional()
    print("the teacher learns from 1300 labels")
    train(teacher, 1300, steps, lambda logits, batch: F.cross_entropy(logits, labels[batch]))
    with torch.no_grad():
        opinions = teacher(images)

    torch.manual_seed(1)
    alone = perceptron()
    print("a student learns from 200 labels")
    train(alone, 200, steps, lambda logits, batch: F.cross_entropy(logits, labels[batch]))

    torch.manual_seed(1)
    taught = perceptron()
    print("another learns from the teacher's opinions on 1300 images")
    train(taught, 1300, steps, lambda logits, batch: distillation_loss(logits, opinions[batch]))

    print(f"accuracy: teacher {accuracy(teacher):.1%}, alone {accuracy(alone):.1%}, taught {accuracy(taught):.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Knowledge distillation")
    parser.add_argument("--steps", type=int, default=200)
    main(parser.parse_args().steps)
