"""Temporal convolutions: causal and not, with gates and skips, trained, and asked step by step with buffers"""

import torch
from pytorch_tcn import TCN

for options in (
    {"causal": True},
    {"causal": False, "use_norm": "layer_norm", "use_skip_connections": True},
    {"causal": True, "use_gate": True, "activation": "tanh"},
):
    torch.manual_seed(0)
    net = TCN(num_inputs=3, num_channels=[8, 8], kernel_size=3, dropout=0.0, **options)
    x = torch.randn(2, 3, 12, requires_grad=True)
    result = net(x)
    result.square().mean().backward()
    print(tuple(result.shape), result.sum().item(), x.grad.abs().sum().item())
    print(sum(p.grad.norm().item() for p in net.parameters() if p.grad is not None))
net = TCN(num_inputs=2, num_channels=[4, 4], kernel_size=2, dropout=0.0, causal=True).eval()
net.reset_buffers()
with torch.no_grad():
    print([net(torch.full((1, 2, 1), float(i)), inference=True).sum().item() for i in range(4)])
