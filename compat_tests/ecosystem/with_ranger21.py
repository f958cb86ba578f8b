"""Training with Ranger21: warm-up, normalised gradients, lookahead."""

import torch
from ranger21 import Ranger21

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
x, y = torch.randn(32, 4), torch.randn(32, 1)
optimizer = Ranger21(net.parameters(), lr=1e-2, num_epochs=4, num_batches_per_epoch=5)
for step in range(20):
    loss = torch.nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(round(loss.item(), 5))
