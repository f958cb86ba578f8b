"""Training with AdaBelief, with decoupled decay, rectified and not."""

import torch
from adabelief_pytorch import AdaBelief

for options in ({}, {"rectify": False, "weight_decouple": False, "weight_decay": 1e-2}, {"amsgrad": True}):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    optimizer = AdaBelief(net.parameters(), lr=1e-2, eps=1e-12, print_change_log=False, **options)
    for step in range(12):
        loss = torch.nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 3:
            print(round(loss.item(), 5))
