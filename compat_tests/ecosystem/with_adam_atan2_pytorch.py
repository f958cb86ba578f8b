"""Training with optimizers whose steps are angles: Adam's and Adopt's, with decay and regeneration towards the start"""

import torch
from adam_atan2_pytorch import AdamAtan2, AdoptAtan2

x = torch.linspace(-2, 2, 48).reshape(16, 3)
y = x.prod(1, keepdim=True)
for kind, options in (
    (AdamAtan2, {"lr": 1e-2, "weight_decay": 1e-2}),
    (AdamAtan2, {"lr": 1e-2, "regen_reg_rate": 1e-2}),
    (AdoptAtan2, {"lr": 1e-2}),
):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = kind(model.parameters(), **options)
    for _ in range(10):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item(), sum(p.norm().item() for p in model.parameters()), sorted(optimizer.state_dict()))
