"""A conditional random field over tags: likelihoods of masked sequences, training, and decoding."""

import torch
from torchcrf import CRF

torch.manual_seed(0)
field = CRF(5, batch_first=True)
emissions = torch.randn(3, 7, 5, requires_grad=True)
tags = torch.randint(0, 5, (3, 7))
mask = torch.arange(7) < torch.tensor([[7], [5], [3]])
optimizer = torch.optim.SGD(field.parameters(), lr=0.1)
for _ in range(5):
    loss = -field(emissions, tags, mask=mask, reduction="token_mean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(emissions.grad.norm().item(), field.decode(emissions, mask=mask))
print(field(emissions, tags, mask=mask, reduction="none").tolist())
