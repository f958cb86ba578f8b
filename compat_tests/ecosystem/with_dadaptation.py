"""Optimizers that adapt the size of their steps by the distance they have gone."""

import dadaptation
import torch

for name in ("DAdaptAdam", "DAdaptSGD", "DAdaptAdaGrad", "DAdaptLion", "DAdaptAdan"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = getattr(dadaptation, name)(model.parameters(), lr=1.0)
    x = torch.randn(16, 4)
    y = x.sin().sum(1, keepdim=True)
    for _ in range(8):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(name, loss.item(), optimizer.param_groups[0]["d"])
