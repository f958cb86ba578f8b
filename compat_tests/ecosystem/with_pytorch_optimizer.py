"""Many optimisers on one small problem."""

import pytorch_optimizer
import torch

for name in ("adabelief", "adan", "lamb", "lion", "madgrad", "radam", "ranger21", "sophiah", "adamp", "prodigy"):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x = torch.randn(32, 6)
    more = {"num_iterations": 10} if name == "ranger21" else {}
    optimizer = pytorch_optimizer.load_optimizer(name)(net.parameters(), lr=1e-2, **more)
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        loss.backward(create_graph=name == "sophiah")
        optimizer.step()
    print(name, loss.item())
