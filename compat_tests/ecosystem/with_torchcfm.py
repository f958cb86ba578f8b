"""Flow matching: conditional flows between two clouds of points, a field trained to follow them."""

import torch
from torchcfm.conditional_flow_matching import ConditionalFlowMatcher, VariancePreservingConditionalFlowMatcher
from torchcfm.models import MLP

for make in (ConditionalFlowMatcher, VariancePreservingConditionalFlowMatcher):
    torch.manual_seed(0)
    field, matcher = MLP(dim=2, time_varying=True, w=16), make(sigma=0.1)
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    for _ in range(4):
        begin, end = torch.randn(64, 2), torch.randn(64, 2) + 3
        t, x, velocity = matcher.sample_location_and_conditional_flow(begin, end)
        loss = (field(torch.cat([x, t[:, None]], -1)) - velocity).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(round(loss.item(), 4))
