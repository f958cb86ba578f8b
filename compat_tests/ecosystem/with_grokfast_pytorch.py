"""Training with gradients whose slow parts are made stronger"""

import torch
from grokfast_pytorch import GrokFastAdamW

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
optimizer = GrokFastAdamW(model.parameters(), lr=1e-2, weight_decay=1e-2, grokfast_after_step=2)
x, y = torch.randn(20, 4), torch.arange(20) % 2
for _ in range(8):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
