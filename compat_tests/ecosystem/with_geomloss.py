"""Distances between clouds of points: Sinkhorn divergences, kernel norms, and their gradients."""

import torch
from geomloss import SamplesLoss

torch.manual_seed(0)
x, y = torch.randn(20, 2, requires_grad=True), torch.randn(15, 2) + 1
for kind, options in (("sinkhorn", {"p": 2, "blur": 0.1}), ("gaussian", {"blur": 0.5}), ("energy", {}),
                      ("laplacian", {"blur": 0.5}), ("sinkhorn", {"p": 1, "debias": False})):  # fmt: skip
    loss = SamplesLoss(kind, backend="tensorized", **options)(x, y)
    (grad,) = torch.autograd.grad(loss, x)
    print(kind, round(loss.item(), 4), round(grad.abs().sum().item(), 4))
