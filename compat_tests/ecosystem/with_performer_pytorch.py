"""Attention by random features: a language model's loss, and a layer over sequences."""

import torch
from performer_pytorch import Performer, PerformerLM

torch.manual_seed(0)
model = PerformerLM(num_tokens=20, max_seq_len=16, dim=16, depth=1, heads=2, dim_head=8, causal=False, nb_features=8)
tokens = torch.randint(0, 20, (2, 16))
logits = model(tokens, mask=torch.ones_like(tokens).bool())
loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens)
loss.backward()
print(tuple(logits.shape), round(loss.item(), 4))
layer = Performer(dim=16, depth=1, heads=2, dim_head=8, generalized_attention=True, nb_features=8)
print(round(layer(torch.randn(1, 12, 16)).sum().item(), 3))
