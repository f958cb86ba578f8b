"""Liquid networks: wired cells of continuous time, trained on a sine."""

import torch
from ncps.torch import LTC, CfC
from ncps.wirings import AutoNCP, FullyConnected

torch.manual_seed(0)
t = torch.linspace(0, 3, 12)
x, y = torch.stack([t.sin(), t.cos()], 1)[None], (2 * t).sin()[None, :, None]
for network in (CfC(2, AutoNCP(10, 1)), LTC(2, AutoNCP(8, 1)), CfC(2, 6, proj_size=1), LTC(2, FullyConnected(5, 1))):
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(3):
        out, state = network(x, timespans=None)
        loss = torch.nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
    print(type(network).__name__, out[0, -1].tolist(), state.shape)
