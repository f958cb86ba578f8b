"""Spiking cells of norse in sequence: integrate-and-fire, recurrent and leaky integrators, with gradients."""

import norse.torch as norse
import torch

torch.manual_seed(0)
model = norse.SequentialState(
    torch.nn.Linear(4, 8), norse.LIFCell(norse.LIFParameters(alpha=torch.as_tensor(80.0))),
    norse.LIFRecurrentCell(8, 6), torch.nn.Linear(6, 2), norse.LICell(),
)  # fmt: skip
state, outputs = None, []
for _ in range(12):
    out, state = model(torch.rand(3, 4) * 20, state)
    outputs.append(out)
loss = torch.stack(outputs).square().mean()
loss.backward()
print(f"{loss.item():.4e}", [f"{p.grad.abs().sum().item():.3e}" for p in model.parameters()])
