"""Training with MADGRAD and its mirror."""

import madgrad
import torch

for make in (madgrad.MADGRAD, madgrad.MirrorMADGRAD):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    optimizer = make(net.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-4)
    for step in range(12):
        loss = torch.nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 3:
            print(round(loss.item(), 5))
