"""Training with the Lion optimizer, of parameters in groups, with weight decay."""

import torch
from lion_pytorch import Lion

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
x = torch.randn(32, 6)
y = x.prod(1, keepdim=True)
groups = [{"params": model[0].parameters(), "lr": 3e-3}, {"params": model[2].parameters()}]
for options in ({}, {"decoupled_weight_decay": True}):
    optimizer = Lion(groups, lr=1e-2, weight_decay=1e-2, **options)
    for _ in range(8):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item(), sum(p.norm().item() for p in model.parameters()))
