"""A table of a network's layers, made by its hooks."""

import torch
from torchsummary import summary

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Flatten(), torch.nn.Linear(512, 10),
)  # fmt: skip
summary(model, (3, 16, 16), device="cpu")
