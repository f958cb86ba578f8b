"""Networks of linear layers in several shapes, with norms and residuals."""

import torch
from x_mlps_pytorch import MLP
from x_mlps_pytorch.normed_mlp import MLP as NormedMLP

torch.manual_seed(0)
x = torch.randn(3, 8, requires_grad=True)
for net in (MLP(8, 16, 4), NormedMLP(8, 16, 16, 4)):
    result = net(x)
    (grad,) = torch.autograd.grad(result.square().mean(), x)
    print(tuple(result.shape), round(result.sum().item(), 4), round(grad.abs().sum().item(), 4))
