"""A moving average of a model's weights while it trains, and a switched copy."""

import torch
from ema_pytorch import EMA

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1))
average = EMA(net, beta=0.95, update_after_step=2, update_every=2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(16, 4)
for _ in range(10):
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update()
print(loss.item(), average.step.item(), average.get_current_decay())
print(net(x).norm().item(), average(x).norm().item())
average.copy_params_from_ema_to_model()
print(sum(p.norm().item() for p in net.parameters()), len(average.state_dict()))
