"""A spline flow and a masked autoregressive one: densities, training, samples."""

import torch
import zuko

torch.manual_seed(0)
x = torch.randn(64, 3) @ torch.tensor([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
for kind in (zuko.flows.MAF, zuko.flows.NSF):
    flow = kind(3, 2, transforms=2, hidden_features=(16, 16))
    context, optimizer = torch.randn(64, 2), torch.optim.Adam(flow.parameters(), 1e-2)
    for _ in range(3):
        loss = -flow(context).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(kind.__name__, loss.item())
    print(flow(context[0]).sample((4,)).sum().item())
