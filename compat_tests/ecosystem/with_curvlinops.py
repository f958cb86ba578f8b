"""Curvature of a loss as linear operators: the Hessian, Gauss-Newton and Fisher, multiplied with vectors."""

import torch
from curvlinops import GGNLinearOperator, HessianLinearOperator, KFACLinearOperator, hutchinson_trace

torch.manual_seed(0)
data = [(torch.randn(8, 4, dtype=torch.float64), torch.randint(0, 3, (8,))) for _ in range(2)]
model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)).double()
params = [p for p in model.parameters() if p.requires_grad]
v = torch.randn(sum(p.numel() for p in params), dtype=torch.float64)
for build in (HessianLinearOperator, GGNLinearOperator, KFACLinearOperator):
    operator = build(model, torch.nn.CrossEntropyLoss(), params, data)
    made = operator @ v
    print(build.__name__, tuple(operator.shape), made.norm().item() if build is not KFACLinearOperator else "")
print(hutchinson_trace(GGNLinearOperator(model, torch.nn.CrossEntropyLoss(), params, data), num_matvecs=4).item())
