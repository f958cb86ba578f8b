"""Sparse experts with a balanced router: outputs, the router's losses, and gradients"""

import torch
from st_moe_pytorch import MoE, SparseMoEBlock

torch.manual_seed(0)
moe = MoE(dim=8, num_experts=4, gating_top_n=2, threshold_train=0.0, threshold_eval=0.0, capacity_factor_train=1.25)
block = SparseMoEBlock(moe, add_ff_before=True, add_ff_after=True)
x = torch.randn(2, 10, 8, requires_grad=True)
made, total, balance, router = block.eval()(x)
(made.square().mean() + total).backward()
print(tuple(made.shape), made.sum().item(), total.item(), balance.item(), router.item())
print(x.grad.abs().sum().item(), sum(p.grad.norm().item() for p in block.parameters() if p.grad is not None))
