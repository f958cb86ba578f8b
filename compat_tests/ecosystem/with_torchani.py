"""Environments of atoms as vectors of symmetric functions, with the forces that they give."""

import os

os.environ["TORCHANI_NO_WARN_EXTENSIONS"] = "1"

import torch
import torchani

species = torch.tensor([[1, 0, 0, 0, 0]])
places = torch.tensor(
    [[[0.03, 0.006, 0.01], [-0.83, 0.39, -0.26], [-0.67, -0.84, 0.2], [0.45, 0.5, 0.88], [0.66, -0.16, -0.91]]],
    requires_grad=True,
)
environments = torchani.AEVComputer.like_1x()(species, places)
environments.sum().backward()
print(tuple(environments.shape), f"{environments.sum().item():.4f}")
print(*[f"{value:.4f}" for value in places.grad.flatten().tolist()])
