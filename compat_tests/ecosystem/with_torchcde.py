"""A neural controlled differential equation over an interpolated series, trained for some steps."""

import torch
import torchcde

torch.manual_seed(0)
t = torch.linspace(0, 1, 12)
series = torch.stack([t.expand(8, -1), torch.sin(6 * t + torch.rand(8, 1) * 3)], -1)
labels = series[:, -1, 1:] - series[:, 0, 1:]


class Field(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 8)

    def forward(self, t: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return self.layer(z).tanh().view(*z.shape[:-1], 4, 2)


field, start, read = Field(), torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*field.parameters(), *start.parameters(), *read.parameters()], lr=1e-2)
coefficients = torchcde.hermite_cubic_coefficients_with_backward_differences(series)
for adjoint in (True, True, False, False):
    path = torchcde.CubicSpline(coefficients)
    z = torchcde.cdeint(
        path, field, start(path.evaluate(path.interval[0])), path.interval, adjoint=adjoint, method="rk4",
        options={"step_size": 0.5},
    )  # fmt: skip
    loss = torch.nn.functional.mse_loss(read(z[:, 1]), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
line = torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(series))
print(line.evaluate(torch.tensor(3.3)).sum().item(), line.derivative(torch.tensor(3.3)).sum().item())
