"""Integrals by rules and by chance, with gradients through the domain's values."""

import torch
from torchquad import Boole, MonteCarlo, Simpson, Trapezoid

torch.set_default_dtype(torch.float64)
scale = torch.tensor(2.0, requires_grad=True)
for rule, options in ((Trapezoid, {}), (Simpson, {}), (Boole, {}), (MonteCarlo, {"seed": 0})):
    domain = torch.tensor([[0.0, 1.0], [-1.0, 1.0]])
    found = rule().integrate(
        lambda x: torch.sin(scale * x[:, 0]) + x[:, 1] ** 2, dim=2, N=441, integration_domain=domain, backend="torch",
        **options,
    )  # fmt: skip
    (grad,) = torch.autograd.grad(found, scale)
    print(rule.__name__, round(found.item(), 6), round(grad.item(), 6))
