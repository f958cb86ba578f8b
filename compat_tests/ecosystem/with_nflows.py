"""A flow of permutations and autoregressive transforms."""

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
parts = [ReversePermutation(3), MaskedAffineAutoregressiveTransform(3, 8)] * 2
flow = Flow(CompositeTransform(parts), StandardNormal([3]))
optimizer, x = torch.optim.Adam(flow.parameters(), 1e-2), torch.randn(32, 3) * 2 + 1
for _ in range(4):
    optimizer.zero_grad()
    loss = -flow.log_prob(x).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(flow.sample(3).shape)
