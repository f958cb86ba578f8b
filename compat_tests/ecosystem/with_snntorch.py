"""Spiking neurons: a network trained through surrogate gradients, spikes of rates and latencies, and its losses."""

import snntorch as snn
import torch
from snntorch import functional, spikegen, surrogate

torch.manual_seed(0)
print(spikegen.latency(torch.tensor([0.1, 0.5, 0.9]), num_steps=5, normalize=True, linear=True).tolist())
print(spikegen.rate(torch.full((4,), 0.5), num_steps=6).sum().item())
spike = surrogate.fast_sigmoid(slope=25)
layers = torch.nn.ModuleList([
    torch.nn.Linear(4, 12), snn.Leaky(beta=0.9, spike_grad=spike), torch.nn.Linear(12, 3),
    snn.Synaptic(alpha=0.8, beta=0.9, spike_grad=spike),
])  # fmt: skip
optimizer, lost = torch.optim.Adam(layers.parameters(), lr=1e-2), functional.ce_rate_loss()
x, y = torch.rand(8, 4) * 3, torch.randint(0, 3, (8,))
for _ in range(4):
    first = layers[1].init_leaky()
    current, second = layers[3].init_synaptic()
    spikes = []
    for _ in range(10):
        out, first = layers[1](layers[0](x), first)
        out, current, second = layers[3](layers[2](out), current, second)
        spikes.append(out)
    loss = lost(torch.stack(spikes), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(round(loss.item(), 4), functional.accuracy_rate(torch.stack(spikes), y))
