"""Residual streams that learn how they are mixed, around linear layers, with gradients"""

import torch
from hyper_connections import get_init_and_expand_reduce_stream_functions

torch.manual_seed(0)
init, expand, reduce = get_init_and_expand_reduce_stream_functions(4, dim=16)
layers = torch.nn.ModuleList([init(dim=16, branch=torch.nn.Linear(16, 16)) for _ in range(2)])
x = torch.randn(2, 5, 16, requires_grad=True)
streams = expand(x)
for layer in layers:
    streams = layer(streams)
result = reduce(streams)
result.square().mean().backward()
print(tuple(result.shape), result.sum().item(), x.grad.abs().sum().item())
print([(name, round(p.grad.norm().item(), 4)) for name, p in layers.named_parameters() if p.grad is not None])
