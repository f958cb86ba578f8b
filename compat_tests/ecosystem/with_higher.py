"""Meta learning through unrolled steps."""

import higher
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
outer, inner = torch.optim.Adam(net.parameters(), 1e-2), torch.optim.SGD(net.parameters(), 0.1)
x = torch.randn(8, 3)
y = x.sum(1, keepdim=True)
for _ in range(3):
    outer.zero_grad()
    with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (fast, steps):
        for _ in range(2):
            steps.step(torch.nn.functional.mse_loss(fast(x), y))
        loss = torch.nn.functional.mse_loss(fast(x), y)
        loss.backward()
    outer.step()
    print(loss.item(), net.weight.sum().item())
