"""Rotary embeddings of queries and keys, over time and over pixels, with cached keys and xpos."""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

torch.manual_seed(0)
q, k = torch.randn(1, 2, 8, 16), torch.randn(1, 2, 8, 16)
rotary = RotaryEmbedding(dim=8)
print(rotary.rotate_queries_or_keys(q).norm().item(), rotary.rotate_queries_or_keys(k)[0, 0, 3, :4].tolist())
print([r.abs().sum().item() for r in rotary.rotate_queries_with_cached_keys(q[:, :, -1:], k)])
print([r.abs().sum().item() for r in RotaryEmbedding(dim=8, use_xpos=True).rotate_queries_and_keys(q, k)])
axial = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=10)
angles = axial.get_axial_freqs(4, 5)
print(tuple(angles.shape), apply_rotary_emb(angles, torch.randn(1, 4, 5, 16)).abs().sum().item())
learned = RotaryEmbedding(dim=8, learned_freq=True)
learned.rotate_queries_or_keys(q).square()[..., 0].sum().backward()
print(learned.freqs.grad.tolist())
