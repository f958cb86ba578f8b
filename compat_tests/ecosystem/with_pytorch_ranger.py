"""Training with Ranger and its kin: looking ahead over rectified steps"""

import torch
from pytorch_ranger import Ranger, RangerQH, RangerVA

x = torch.linspace(-1, 1, 30).reshape(10, 3)
y = x.sum(1, keepdim=True).sin()
for kind in (Ranger, RangerVA, RangerQH):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = kind(model.parameters(), lr=1e-2)
    for _ in range(14):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(kind.__name__, loss.item(), sum(p.norm().item() for p in model.parameters()))
