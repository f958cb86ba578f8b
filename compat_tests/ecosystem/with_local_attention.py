"""Attention within windows, causal and not, with masks and with rotary embeddings; a local transformer's loss."""

import torch
from local_attention import LocalAttention
from local_attention.transformer import LocalTransformer

torch.manual_seed(0)
q, k, v = (torch.randn(2, 4, 32, 8, requires_grad=True) for _ in range(3))
mask = torch.ones(2, 32).bool()
mask[0, 20:] = False
for options in ({"causal": True, "look_backward": 1}, {"look_forward": 1}, {"exact_windowsize": True, "causal": True}):
    attention = LocalAttention(dim=8, window_size=8, autopad=True, **options)
    made = attention(q, k, v, mask=mask)
    gradients = torch.autograd.grad(made.square().sum(), (q, k, v))
    print(made.norm().item(), [g.norm().item() for g in gradients])
model = LocalTransformer(num_tokens=20, dim=16, depth=2, max_seq_len=32, causal=True, local_attn_window_size=8, heads=2)
ids = torch.randint(0, 20, (2, 24))
loss = model(ids, return_loss=True)
loss.backward()
print(loss.item(), model(ids).abs().sum().item())
