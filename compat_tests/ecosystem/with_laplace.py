"""A Laplace approximation about a trained network: last layer and diagonal, its predictions and its prior's fit."""

import torch
from laplace import Laplace
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(60, 3)
y = (x.sum(1) > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
for _ in range(20):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
loader = DataLoader(TensorDataset(x, y), batch_size=20)
for weights, structure in (("last_layer", "kron"), ("all", "diag"), ("last_layer", "full")):
    posterior = Laplace(model, "classification", subset_of_weights=weights, hessian_structure=structure)
    posterior.fit(loader)
    print(weights, structure, posterior.log_marginal_likelihood().item())
    print(posterior(x[:3], link_approx="probit").tolist())
