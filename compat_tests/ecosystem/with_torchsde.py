"""A stochastic differential equation, forward and backward."""

import torch
import torchsde


class System(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Linear(2, 2)

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return 0.1 * torch.ones_like(y)


torch.manual_seed(0)
system, y0, t = System(), torch.ones(4, 2), torch.linspace(0, 1, 3)
motion = torchsde.BrownianInterval(0.0, 1.0, size=(4, 2), entropy=3)
y = torchsde.sdeint(system, y0, t, bm=motion, dt=0.1, method="euler")
y[-1].sum().backward()
print(y[-1].flatten().tolist(), system.drift.weight.grad.tolist())
