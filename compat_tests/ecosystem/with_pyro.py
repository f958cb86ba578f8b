"""Stochastic variational inference, a few samples of HMC, and an autoguide."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import HMC, MCMC, SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal

pyro.set_rng_seed(0)
data = torch.randn(40) * 0.5 + 2


def model(data):
    loc = pyro.sample("loc", dist.Normal(0.0, 10.0))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with pyro.plate("data", len(data)):
        pyro.sample("obs", dist.Normal(loc, scale), obs=data)


guide = AutoNormal(model)
svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
for step in range(60):
    loss = svi.step(data)
    if step % 20 == 0:
        print(step, loss)
print({name: value.item() for name, value in guide.median().items()})
pyro.set_rng_seed(1)
chain = MCMC(HMC(model, step_size=0.05, num_steps=4), num_samples=10, warmup_steps=5, disable_progbar=True)
chain.run(data)
print(chain.get_samples()["loc"].mean().item())
