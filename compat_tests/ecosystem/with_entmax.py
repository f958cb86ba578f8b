"""Sparse kinds of softmax, their losses, and gradients, the exponent's included."""

import torch
from entmax import Entmax15Loss, SparsemaxLoss, budget_bisect, entmax15, entmax_bisect, normmax_bisect, sparsemax

torch.manual_seed(0)
x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
for f in (sparsemax, entmax15, lambda v, dim: entmax_bisect(v, 1.3, dim), lambda v, dim: normmax_bisect(v, 2, dim)):
    y = f(x, dim=-1)
    (gradient,) = torch.autograd.grad(y.square().sum(), x)
    print(y[0].tolist(), int((y > 0).sum()), gradient.norm().item())
alpha = torch.tensor(1.4, dtype=torch.float64, requires_grad=True)
entmax_bisect(x, alpha, dim=-1).square().sum().backward()
print(alpha.grad.item(), budget_bisect(x, 2, dim=-1).sum(-1).tolist())
labels = torch.tensor([0, 1, 2, 3])
for loss in (SparsemaxLoss(), Entmax15Loss()):
    print(loss(x, labels).sum().item())
