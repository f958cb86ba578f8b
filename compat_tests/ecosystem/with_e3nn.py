"""Spherical harmonics and products of representations."""

import torch
from e3nn import o3

torch.manual_seed(0)
x = torch.randn(4, 3)
print(o3.spherical_harmonics([0, 1, 2], x, normalize=True).sum().item(), o3.wigner_3j(1, 1, 2).norm().item())
product = o3.FullyConnectedTensorProduct("2x0e+1x1o", "1x0e+1x1o", "3x0e+1x1o")
result = product(torch.randn(4, 5), torch.randn(4, 4))
result.sum().backward()
print(result.shape, product.weight.grad.norm().item())
