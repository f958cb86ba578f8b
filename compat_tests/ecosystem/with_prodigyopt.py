"""Training with Prodigy, which finds the size of its steps."""

import torch
from prodigyopt import Prodigy

for options in ({}, {"weight_decay": 0.01, "decouple": True, "safeguard_warmup": True}, {"use_bias_correction": True}):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = Prodigy(model.parameters(), lr=1.0, **options)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    x = torch.randn(16, 4)
    y = x.sin().sum(1, keepdim=True)
    for _ in range(12):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
    print(loss.item(), optimizer.param_groups[0]["d"], schedule.get_last_lr())
