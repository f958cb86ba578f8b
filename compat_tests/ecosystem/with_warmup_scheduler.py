"""A learning rate that grows before another schedule takes it over"""

import torch
from warmup_scheduler import GradualWarmupScheduler

weight = torch.nn.Parameter(torch.ones(2))
for after, options in (
    (lambda o: torch.optim.lr_scheduler.StepLR(o, 3, gamma=0.5), {"multiplier": 1, "total_epoch": 4}),
    (lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 6), {"multiplier": 8, "total_epoch": 3}),
):
    optimizer = torch.optim.SGD([weight], 0.1)
    scheduler = GradualWarmupScheduler(optimizer, **options, after_scheduler=after(optimizer))
    optimizer.zero_grad()
    optimizer.step()
    rates = []
    for epoch in range(1, 12):
        scheduler.step(epoch)
        rates.append(round(optimizer.param_groups[0]["lr"], 6))
        optimizer.step()
    print(rates)
