"""Functional and meta optimisers."""

import torch
import torchopt

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
x = torch.randn(16, 4)
y = x.sum(1, keepdim=True)
optimizer = torchopt.MetaAdam(net, lr=0.1)
first = torch.nn.functional.mse_loss(net(x), y)
optimizer.step(first)
second = torch.nn.functional.mse_loss(net(x), y)
print(first.item(), second.item())
torchopt.stop_gradient(net)
net = torch.nn.Linear(4, 1)
plain = torchopt.FuncOptimizer(torchopt.adamw(lr=0.05))
params = tuple(net.parameters())
for _ in range(3):
    loss = torch.nn.functional.mse_loss(torch.nn.functional.linear(x, *params), y)
    params = plain.step(loss, params)
    print(loss.item())
