"""Bayesian layers of blitz: linear, convolutional and recurrent ones, and the loss by samples of weights."""

import torch
from blitz.modules import BayesianConv2d, BayesianLinear, BayesianLSTM
from blitz.utils import variational_estimator


@variational_estimator
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = BayesianConv2d(1, 2, (3, 3)), BayesianLinear(18, 2)

    def forward(self, x):
        return self.out(torch.relu(self.conv(x)).flatten(1))


torch.manual_seed(0)
net, x, y = Net(), torch.randn(6, 1, 5, 5), torch.randint(0, 2, (6,))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(3):
    loss = net.sample_elbo(inputs=x, labels=y, criterion=torch.nn.CrossEntropyLoss(), sample_nbr=2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(round(loss.item(), 3))
print(round(BayesianLSTM(3, 4)(torch.randn(2, 5, 3))[0].sum().item(), 4))
