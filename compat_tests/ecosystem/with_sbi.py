"""Simulation-based inference: a posterior by a neural network."""

import warnings

import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform

warnings.simplefilter("ignore")
torch.manual_seed(0)
prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
theta = prior.sample((120,))
x = theta + 0.1 * torch.randn_like(theta)
inference = NPE(prior=prior, density_estimator="mdn", show_progress_bars=False)
estimator = inference.append_simulations(theta, x).train(max_num_epochs=3)
posterior = inference.build_posterior(estimator)
samples = posterior.sample((5,), x=torch.zeros(2), show_progress_bars=False)
print(samples.shape, estimator.log_prob(theta[None, :3], x[:3]).sum().item())
