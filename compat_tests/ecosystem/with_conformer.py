"""Blocks of Conformers, for speech: attention with relative positions, and convolutions."""

import torch
from conformer import Conformer, ConformerBlock

torch.manual_seed(0)
block = ConformerBlock(
    dim=16, dim_head=8, heads=2, ff_mult=2, conv_expansion_factor=2, conv_kernel_size=5, attn_dropout=0.1
)
x = torch.randn(2, 12, 16, requires_grad=True)
out = block(x)
weights = torch.linspace(-1, 2, 16)
(out * weights).square().mean().backward()
print(out.shape, (out * weights).sum().item(), x.grad.norm().item())
model = Conformer(16, depth=2, dim_head=8, heads=2, conv_kernel_size=7)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
for _ in range(3):
    loss = (model(x.detach()) - 1).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print((model.eval()(x) * weights).sum().item(), sorted(model.state_dict())[:5])
