"""Attention of linear cost: causal and not, local heads beside, and a language model's loss."""

import torch
from linear_attention_transformer import LinearAttentionTransformer, LinearAttentionTransformerLM

torch.manual_seed(0)
model = LinearAttentionTransformerLM(num_tokens=20, dim=16, heads=4, depth=2, max_seq_len=32, causal=True,
                                     n_local_attn_heads=2, local_attn_window_size=8, blindspot_size=1)  # fmt: skip
tokens = torch.randint(0, 20, (1, 32))
loss = torch.nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens)
loss.backward()
print(round(loss.item(), 4))
plain = LinearAttentionTransformer(dim=16, heads=2, depth=1, max_seq_len=32)
print(round(plain(torch.randn(1, 32, 16)).sum().item(), 3))
