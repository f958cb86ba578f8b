"""Differential equations: fixed and adaptive steps, gradients by the adjoint."""

import torch
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net

    def forward(self, t, y):
        return self.net(y)


y0, t = torch.randn(3, 2), torch.linspace(0, 1, 4)
for method in ("rk4", "dopri5", "euler"):
    y = odeint(Field(), y0, t, method=method)
    print(method, y[-1].flatten().tolist())
odeint_adjoint(Field(), y0, t)[-1].pow(2).sum().backward()
print([p.grad.norm().item() for p in net.parameters()])
