"""Differential equations solved in parallel, each with steps of its own, with gradients through and by the adjoint."""

import torch
import torchode

torch.manual_seed(0)
start = torch.tensor([[1.2], [5.0]], requires_grad=True)
times = torch.stack((torch.linspace(0, 5, 10), torch.linspace(3, 4, 10)))
problem = torchode.InitialValueProblem(y0=start, t_eval=times)
term = torchode.ODETerm(lambda t, y: -0.5 * y)

for method in (torchode.Dopri5, torchode.Tsit5, torchode.Heun):
    controller = torchode.IntegralController(atol=1e-6, rtol=1e-3, term=term)
    solution = torchode.AutoDiffAdjoint(method(term=term), controller).solve(problem)
    start.grad = None
    solution.ys.sum().backward()
    print(method.__name__, f"{solution.ys.sum().item():.3f}", *[f"{g:.3f}" for g in start.grad.flatten().tolist()])
    print("steps", *solution.stats["n_steps"].tolist(), "status", *solution.status.tolist())


class Field(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(1, 1)

    def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.net(y))


field = Field()
learned = torchode.ODETerm(field)
controller = torchode.PIDController(1e-6, 1e-3, 0.2, 0.5, 0.0, term=learned)
solver = torchode.BacksolveAdjoint(learned, torchode.Dopri5(term=learned), controller)
same_times = torch.linspace(0, 1, 10).expand(2, 10)
solver.solve(torchode.InitialValueProblem(y0=start, t_eval=same_times)).ys[:, -1].sum().backward()
print("adjoint", *[f"{p.grad.item():.3f}" for p in field.parameters()])
