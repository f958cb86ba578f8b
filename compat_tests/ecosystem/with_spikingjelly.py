"""Spiking networks of spikingjelly: neurons with surrogate gradients, trained over time steps."""

import torch
from spikingjelly.activation_based import encoding, functional, layer, neuron, surrogate

torch.manual_seed(0)
net = torch.nn.Sequential(
    layer.Linear(6, 16), neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan()), layer.Linear(16, 3),
    neuron.IFNode(surrogate_function=surrogate.Sigmoid()),
)  # fmt: skip
encoder = encoding.PoissonEncoder()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = torch.rand(8, 6), torch.randint(0, 3, (8,))
for _ in range(4):
    rate = sum(net(encoder(x)) for _ in range(6)) / 6
    loss = torch.nn.functional.mse_loss(rate, torch.nn.functional.one_hot(y, 3).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    functional.reset_net(net)
    print(round(loss.item(), 5))
