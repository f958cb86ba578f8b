"""Soft mixtures of experts: slots and experts, with a mask, and gradients."""

import torch
from soft_moe_pytorch import DynamicSlotsSoftMoE, SoftMoE

torch.manual_seed(0)
x, mask = torch.randn(1, 12, 16, requires_grad=True), torch.ones(1, 12).bool()
soft = SoftMoE(dim=16, seq_len=12, num_experts=3)
result = soft(x, mask=mask)
result.square().mean().backward()
print(round(result.sum().item(), 3), round(x.grad.abs().sum().item(), 4))
print(round(DynamicSlotsSoftMoE(dim=16, num_experts=3, geglu=True)(x).sum().item(), 3))
