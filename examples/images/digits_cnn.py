"""Recognise handwritten digits with a small convolutional network: where every course on deep learning begins."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from digits import digits
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout1 = nn.Dropout2d(0.1)
        self.dropout2 = nn.Dropout(0.25)
        self.fc1 = nn.Linear(512, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def train(model: Net, loader: DataLoader[Any], optimizer: torch.optim.Optimizer, first_step: int) -> None:
    model.train()
    for step, (images, labels) in enumerate(loader, start=first_step):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        if step < 5 or step % 25 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")


@torch.no_grad()
def test(model: Net, loader: DataLoader[Any]) -> float:
    model.eval()
    correct = sum((model(images).argmax(dim=1) == labels).sum().item() for images, labels in loader)
    return float(correct / len(loader.dataset))


def main(steps: int) -> None:
    torch.manual_seed(1)
    train_set, test_set = random_split(TensorDataset(*digits()), [1500, 297])
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=99)

    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for first_step in range(0, steps, len(train_loader)):
        train(model, train_loader, optimizer, first_step)
        schedule.step()
        print(f"accuracy on the test set {test(model, test_loader):.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Convolutional network on handwritten digits")
    parser.add_argument("--steps", type=int, default=115)
    main(parser.parse_args().steps)
