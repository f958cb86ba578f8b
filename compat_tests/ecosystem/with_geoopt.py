"""Points on manifolds: projections, distances, transport, and Riemannian optimizers."""

import geoopt
import torch

torch.manual_seed(0)
for manifold in (geoopt.Sphere(), geoopt.PoincareBall(c=1.0), geoopt.Stiefel(), geoopt.Euclidean()):
    raw = torch.randn(5, 3, dtype=torch.float64) * 0.4
    x, y = manifold.projx(raw), manifold.projx(torch.randn(5, 3, dtype=torch.float64) * 0.4)
    u = manifold.proju(x, 0.05 * torch.randn(5, 3, dtype=torch.float64))
    print(type(manifold).__name__, x.norm().item(), manifold.inner(x, u).sum().item())
    print(manifold.retr(x, u).norm().item())
    if not isinstance(manifold, geoopt.Stiefel):
        print(manifold.dist(x, y).sum().item(), manifold.transp(x, y, u).norm().item())
for build in (geoopt.optim.RiemannianAdam, geoopt.optim.RiemannianSGD):
    point = geoopt.ManifoldParameter(torch.tensor([0.6, 0.0, 0.8]), manifold=geoopt.Sphere())
    optimizer = build([point], lr=0.1)
    for _ in range(6):
        loss = (point - torch.tensor([0.0, 1.0, 0.0])).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item(), point.norm().item())
