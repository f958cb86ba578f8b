"""An exact Gaussian process, fitted and asked."""

import gpytorch
import torch

torch.manual_seed(0)
x = torch.linspace(0, 1, 30)
y = torch.sin(6 * x) + 0.1 * torch.randn(30)


class Process(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Process(x, y, likelihood)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
optimizer = torch.optim.Adam(model.parameters(), 0.1)
for step in range(20):
    optimizer.zero_grad()
    loss = -objective(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item(), model.kernel.base_kernel.lengthscale.item())
model.eval(), likelihood.eval()
with torch.no_grad():
    found = likelihood(model(torch.linspace(0, 1, 5)))
    print(found.mean.tolist(), found.variance.tolist())
