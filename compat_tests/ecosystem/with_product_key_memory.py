"""A memory of values found by products of keys, with gradients."""

import torch
from product_key_memory import PKM

torch.manual_seed(0)
memory = PKM(dim=16, heads=2, dim_head=8, num_keys=8, topk=4).eval()
x = torch.randn(1, 6, 16, requires_grad=True)
result = memory(x, input_mask=torch.ones(1, 6).bool())
result.square().mean().backward()
print(round(result.sum().item(), 4), f"{x.grad.abs().sum().item():.4e}")
