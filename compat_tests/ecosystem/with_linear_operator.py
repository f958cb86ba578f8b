"""Structured matrices that are never written out: products, solves, determinants, and gradients of these."""

import torch
from linear_operator import operators, settings
from linear_operator.operators import DiagLinearOperator, KroneckerProductLinearOperator, ToeplitzLinearOperator

torch.manual_seed(0)
a, b = torch.randn(4, 4, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64)
a, b = (a @ a.T + torch.eye(4, dtype=torch.float64)).requires_grad_(), b @ b.T + torch.eye(3, dtype=torch.float64)
kronecker = KroneckerProductLinearOperator(operators.to_linear_operator(a), operators.to_linear_operator(b))
v = torch.randn(12, 2, dtype=torch.float64)
print(kronecker.shape, (kronecker @ v).norm().item(), kronecker.logdet().item(), kronecker.solve(v).norm().item())
kronecker.add_jitter(1e-3).logdet().backward()
print(a.grad.norm().item())
low = operators.RootLinearOperator(v) + DiagLinearOperator(torch.ones(12, dtype=torch.float64))
print(low.inv_quad_logdet(v, logdet=True)[0].item(), low.cholesky().to_dense().diagonal().sum().item())
toeplitz = ToeplitzLinearOperator(torch.tensor([4.0, 1.0, 0.5, 0.1], dtype=torch.float64))
with settings.max_cholesky_size(2):
    print(toeplitz.solve(v[:4]).norm().item(), (toeplitz @ v[:4]).tolist(), toeplitz.diagonal().tolist())
