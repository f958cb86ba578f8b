"""Experts chosen by a gate: in one level and in two, with the loss that balances them."""

import torch
from mixture_of_experts import HeirarchicalMoE, MoE

torch.manual_seed(0)
x = torch.randn(2, 16, 8, requires_grad=True)
for experts in (MoE(dim=8, num_experts=4, hidden_dim=16), HeirarchicalMoE(dim=8, num_experts=(2, 2))):
    result, balance = experts(x)
    (result.square().mean() + balance).backward()
    print(tuple(result.shape), round(result.sum().item(), 3), round(balance.item(), 5))
print(round(x.grad.abs().sum().item(), 4))
