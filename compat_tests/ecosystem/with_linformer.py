"""Attention of linear cost: a language model's loss, and a layer over two sequences."""

import torch
from linformer import Linformer, LinformerLM, LinformerSelfAttention

torch.manual_seed(0)
model = LinformerLM(num_tokens=20, dim=16, seq_len=12, depth=2, heads=2, k=4, one_kv_head=True, share_kv=True)
tokens = torch.randint(0, 20, (2, 12))
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(Linformer(dim=16, seq_len=12, depth=1, heads=2, k=4)(torch.randn(1, 12, 16)).sum().item())
attention = LinformerSelfAttention(dim=16, seq_len=8, heads=2, k=4)
print(attention(torch.randn(1, 6, 16), torch.randn(1, 8, 16)).sum().item())
