"""A search for the learning rate: losses over a rising one, and the model put back."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch_lr_finder import LRFinder

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
before = net[0].weight.detach().clone()
loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=8)
finder = LRFinder(net, torch.optim.SGD(net.parameters(), lr=1e-4), torch.nn.MSELoss(), device="cpu")
finder.range_test(loader, end_lr=1, num_iter=12, step_mode="exp")
print([round(v, 4) for v in finder.history["loss"]], [round(v, 5) for v in finder.history["lr"]])
finder.reset()
print(torch.equal(net[0].weight, before))
