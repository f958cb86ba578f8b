"""A Reformer: attention by hashing in reversible layers, a language model's loss and gradients."""

import torch
from reformer_pytorch import LSHSelfAttention, ReformerLM

torch.manual_seed(0)
model = ReformerLM(num_tokens=20, dim=16, depth=2, max_seq_len=32, heads=2, bucket_size=4, n_hashes=2, causal=True,
                   axial_position_emb=False)  # fmt: skip
tokens = torch.randint(0, 20, (1, 32))
logits = model(tokens)
loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens)
loss.backward()
print(tuple(logits.shape), round(loss.item(), 4))
attention = LSHSelfAttention(dim=16, heads=2, bucket_size=4, n_hashes=2, causal=False)
print(round(attention(torch.randn(1, 16, 16)).sum().item(), 3))
