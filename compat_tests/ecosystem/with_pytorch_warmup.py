"""Learning rates that are warmed up beside a scheduler, linearly and as an optimizer's theory has it."""

import pytorch_warmup as warmup
import torch

for build in (
    lambda o: warmup.LinearWarmup(o, warmup_period=5), lambda o: warmup.ExponentialWarmup(o, warmup_period=4),
    warmup.UntunedLinearWarmup, warmup.UntunedExponentialWarmup, lambda o: warmup.RAdamWarmup(o),
):  # fmt: skip
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    warm = build(optimizer)
    rates = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).square().sum()
        loss.backward()
        optimizer.step()
        with warm.dampening():
            schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    print(*rates, loss.item())
