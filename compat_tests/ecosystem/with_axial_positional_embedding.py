"""Embeddings of places that are sums along axes, of sequences and of images"""

import torch
from axial_positional_embedding import AxialPositionalEmbedding

torch.manual_seed(0)
for module, x in (
    (AxialPositionalEmbedding(dim=8, axial_shape=(4, 6)), torch.randn(2, 20, 8)),
    (AxialPositionalEmbedding(dim=8, axial_shape=(4, 6), axial_dims=(3, 5)), torch.randn(1, 24, 8)),
):
    made = module(x) + x
    made.square().mean().backward()
    print(tuple(made.shape), made.sum().item(), [round(p.grad.norm().item(), 5) for p in module.parameters()])
