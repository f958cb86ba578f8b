"""A loop of Bayesian optimisation: a fitted process, expected improvement, Sobol points."""

import warnings

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
x = draw_sobol_samples(bounds, 8, 1, seed=3).squeeze(1)
print(x.sum().item())


def measured(x):
    return -((x - 0.3) ** 2).sum(-1, keepdim=True)


model = SingleTaskGP(x, measured(x))
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
improvement = LogExpectedImprovement(model, best_f=measured(x).max())
print(model.posterior(x[:3]).mean.flatten().tolist())
candidate, value = optimize_acqf(improvement, bounds, q=1, num_restarts=3, raw_samples=16, options={"seed": 1})
print([round(v, 2) for v in candidate.flatten().tolist()])
