"""Averages of parameters while they are trained, stored, put in place, and restored."""

import torch
from torch_ema import ExponentialMovingAverage

torch.manual_seed(0)
model = torch.nn.Linear(5, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
average = ExponentialMovingAverage(model.parameters(), decay=0.9)
x = torch.randn(32, 5)
y = x @ torch.arange(5.0)
for _ in range(12):
    loss = torch.nn.functional.mse_loss(model(x)[:, 0], y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update()
print(loss.item())
kept = average.state_dict()
with average.average_parameters():
    print(torch.nn.functional.mse_loss(model(x)[:, 0], y).item())
again = ExponentialMovingAverage(model.parameters(), decay=0.5)
again.load_state_dict(kept)
again.copy_to(model.parameters())
print(model.weight.tolist(), kept["decay"], kept["num_updates"])
