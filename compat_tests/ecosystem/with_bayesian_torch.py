"""A network whose weights become distributions, trained in two ways, and Bayesian layers of other kinds."""

import bayesian_torch.layers as bayesian
import torch
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss

PRIOR = {
    "prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0, "posterior_rho_init": -3.0, "moped_enable": False,
    "moped_delta": 0.5,
}  # fmt: skip

for kind in ("Reparameterization", "Flipout"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3))
    dnn_to_bnn(model, {**PRIOR, "type": kind})
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    images, classes = torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,))
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), classes) + get_kl_loss(model) / 8
        loss.backward()
        optimizer.step()
        print(kind, f"{loss.item():.4f}")

for layer in (bayesian.LSTMReparameterization, bayesian.LSTMFlipout):
    torch.manual_seed(0)
    hidden, _, divergence = layer(4, 3)(torch.randn(2, 5, 4))
    print(layer.__name__, f"{hidden.sum().item():.4f} {divergence.item():.4f}")
torch.manual_seed(0)
made, divergence = bayesian.Conv1dFlipout(2, 3, 3)(torch.randn(2, 2, 6))
print("convolved", f"{made.sum().item():.4f} {divergence.item():.4f}")
