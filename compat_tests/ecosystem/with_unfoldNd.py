"""Windows of tensors of one to three dimensions, folded back, with gradients."""

import torch
from unfoldNd import FoldNd, UnfoldNd, UnfoldTransposeNd

torch.manual_seed(0)
for dims in (1, 2, 3):
    x = torch.rand(2, 3, *[6] * dims, requires_grad=True)
    windows = UnfoldNd(2, stride=2)(x)
    windows.pow(2).sum().backward()
    folded = FoldNd((6,) * dims, 2, stride=2)(windows)
    turned = UnfoldTransposeNd(2, padding=1)(x)
    print(dims, tuple(windows.shape), f"{x.grad.sum().item():.4f} {folded.sum().item():.4f}")
    print(tuple(turned.shape), f"{turned.sum().item():.4f}")
