"""Attention by landmarks, with masks, and a stack of such layers, with gradients."""

import torch
from nystrom_attention import NystromAttention, Nystromformer

torch.manual_seed(0)
attention = NystromAttention(dim=16, dim_head=8, heads=2, num_landmarks=4, pinv_iterations=6, residual=True)
x, mask = torch.randn(1, 24, 16, requires_grad=True), torch.ones(1, 24).bool()
result = attention(x, mask=mask)
result.square().mean().backward()
print(round(result.sum().item(), 3), round(x.grad.abs().sum().item(), 5))
model = Nystromformer(dim=16, dim_head=8, heads=2, depth=2, num_landmarks=4, pinv_iterations=3)
print(round(model(torch.randn(1, 16, 16)).sum().item(), 3))
