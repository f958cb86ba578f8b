"""Optimal transport with tensors: exact, entropic and sliced distances, plans, barycentres, and gradients."""

import ot
import torch

torch.manual_seed(0)
x, y = torch.randn(8, 2, dtype=torch.float64, requires_grad=True), torch.randn(6, 2, dtype=torch.float64) + 1
a, b = torch.full((8,), 1 / 8, dtype=torch.float64), torch.full((6,), 1 / 6, dtype=torch.float64)
cost = ot.dist(x, y)
exact, entropic = ot.emd2(a, b, cost), ot.sinkhorn2(a, b, cost, 0.5)
print(round(exact.item(), 5), round(float(entropic), 5), tuple(ot.sinkhorn(a, b, cost, 0.5).shape))
(grad,) = torch.autograd.grad(exact, x)
print(round(grad.abs().sum().item(), 5))
print(round(float(ot.sliced_wasserstein_distance(x, y, a, b, 20, seed=0)), 5))
print(round(float(ot.gromov_wasserstein2(ot.dist(x, x), ot.dist(y, y), a, b).detach()), 4))
