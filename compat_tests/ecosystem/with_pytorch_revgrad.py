"""A gradient that is turned around, for training against a classifier of domains"""

import torch
from pytorch_revgrad import RevGrad

torch.manual_seed(0)
features = torch.nn.Linear(4, 6)
label, domain = torch.nn.Linear(6, 2), torch.nn.Sequential(RevGrad(alpha=0.5), torch.nn.Linear(6, 2))
optimizer = torch.optim.SGD([*features.parameters(), *label.parameters(), *domain.parameters()], lr=0.1)
x, y, d = torch.randn(12, 4), torch.arange(12) % 2, torch.arange(12) // 6
for _ in range(5):
    made = features(x).relu()
    loss = torch.nn.functional.cross_entropy(label(made), y) + torch.nn.functional.cross_entropy(domain(made), d)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), features.weight.grad.norm().item())
