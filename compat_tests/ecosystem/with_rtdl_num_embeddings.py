"""Embeddings of numbers: linear, periodic, and linear by pieces whose borders are found from data"""

import torch
from rtdl_num_embeddings import (
    LinearEmbeddings,
    LinearReLUEmbeddings,
    PeriodicEmbeddings,
    PiecewiseLinearEmbeddings,
    PiecewiseLinearEncoding,
    compute_bins,
)

torch.manual_seed(0)
x = torch.randn(40, 3)
bins = compute_bins(x, n_bins=5)
print([b.tolist() for b in bins])
for module in (
    LinearEmbeddings(3, 4),
    LinearReLUEmbeddings(3, 4),
    PeriodicEmbeddings(3, 4, lite=False),
    PeriodicEmbeddings(3, 4, lite=True),
    PiecewiseLinearEncoding(bins),
    PiecewiseLinearEmbeddings(bins, 4, activation=True, version="B"),
):
    made = module(x[:6])
    print(type(module).__name__, tuple(made.shape), made.sum().item(), made.abs().max().item())
    if made.requires_grad:
        made.square().mean().backward()
        print([round(p.grad.norm().item(), 4) for p in module.parameters() if p.grad is not None])
