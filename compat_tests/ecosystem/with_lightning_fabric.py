"""Lightning's Fabric on one device: set-up, training, clipping, checkpoints."""

import os
import tempfile

import torch
from lightning_fabric import Fabric, seed_everything

os.chdir(tempfile.mkdtemp())
seed_everything(1, verbose=False)
fabric = Fabric(accelerator="cpu", devices=1)
fabric.launch()
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), 0.1))
data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randint(2, (32,)))
loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(data, batch_size=8, shuffle=True))
for _ in range(2):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        fabric.backward(loss)
        fabric.clip_gradients(net, optimizer, max_norm=1.0)
        optimizer.step()
        print(loss.item())
fabric.save("checkpoint", {"net": net, "optimizer": optimizer, "epoch": 2})
print(fabric.load("checkpoint", {"net": net, "optimizer": optimizer}))
print(fabric.global_rank, fabric.world_size, fabric.device, fabric.all_reduce(torch.ones(1)))
mixed = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
print(mixed.setup(torch.nn.Linear(3, 3))(torch.ones(1, 3)).sum().item())
