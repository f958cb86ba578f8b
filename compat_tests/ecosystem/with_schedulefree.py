"""Training without schedules: SGD, AdamW and RAdam that average as they go."""

import schedulefree
import torch

for name, options in (
    ("SGDScheduleFree", {"lr": 0.5, "warmup_steps": 2}), ("AdamWScheduleFree", {"lr": 0.01, "weight_decay": 0.1}),
    ("RAdamScheduleFree", {"lr": 0.01}), ("AdamWScheduleFree", {"lr": 0.01, "foreach": False}),
):  # fmt: skip
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = getattr(schedulefree, name)(model.parameters(), **options)
    x = torch.randn(16, 4)
    y = x.sin().sum(1, keepdim=True)
    optimizer.train()
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    optimizer.eval()
    with torch.no_grad():
        print(name, loss.item(), torch.nn.functional.mse_loss(model(x), y).item())
    optimizer.load_state_dict(optimizer.state_dict())
