"""Quantities beside the gradient: of each sample, variances, diagonals of curvature, and Kronecker factors."""

import torch
from backpack import backpack, extend
from backpack.extensions import (
    KFAC,
    KFLR,
    BatchGrad,
    BatchL2Grad,
    DiagGGNExact,
    DiagHessian,
    SumGradSquared,
    Variance,
)

torch.manual_seed(0)
model = extend(torch.nn.Sequential(
    torch.nn.Conv2d(1, 2, 3), torch.nn.Sigmoid(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(18, 4)
))  # fmt: skip
criterion = extend(torch.nn.CrossEntropyLoss())
x, y = torch.randn(6, 1, 8, 8), torch.randint(0, 4, (6,))
with backpack(BatchGrad(), BatchL2Grad(), SumGradSquared(), Variance(), DiagGGNExact(), DiagHessian(), KFLR()):
    criterion(model(x), y).backward()
for name, p in model.named_parameters():
    print(name, tuple(p.grad_batch.shape), p.grad_batch.norm().item(), p.batch_l2.sum().item())
    print(p.sum_grad_squared.sum().item(), p.variance.sum().item(), p.diag_ggn_exact.sum().item())
    print(p.diag_h.sum().item(), [f.norm().item() for f in p.kflr])
torch.manual_seed(1)
with backpack(KFAC(mc_samples=2)):
    criterion(model(x), y).backward()
print([f.norm().item() for f in model[4].weight.kfac])
