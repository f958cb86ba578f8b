"""Layers with distributions for weights, trained with the divergence from their priors."""

import torch
import torchbnn

torch.manual_seed(0)
net = torch.nn.Sequential(
    torchbnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=4, out_features=16), torch.nn.ReLU(),
    torchbnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=16, out_features=3),
)  # fmt: skip
divergence, optimizer = torchbnn.BKLLoss(reduction="mean"), torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
for _ in range(5):
    loss = torch.nn.functional.cross_entropy(net(x), y) + 0.1 * divergence(net)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(round(loss.item(), 4))
