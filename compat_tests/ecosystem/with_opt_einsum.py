"""Contractions along the cheapest path, as expressions that are used again, with gradients."""

import opt_einsum
import torch

torch.manual_seed(0)
a, b, c = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, 6), torch.randn(6, 5, 2)
made = opt_einsum.contract("ij,jkl,lkm->im", a, b, c)
made.square().sum().backward()
print(made.norm().item(), a.grad.norm().item())
print(opt_einsum.contract_path("ij,jkl,lkm->im", a, b, c)[0])
expression = opt_einsum.contract_expression("ij,jkl,lkm->im", a.shape, b, c, constants=[1, 2])
print(expression(a.detach()).sum().item(), expression(torch.ones(3, 4)).sum().item())
print(opt_einsum.contract("ii->i", torch.eye(3)).tolist(), opt_einsum.contract("i,j->ij", c[0, 0], c[0, 1]).tolist())
