"""Gated networks without attention: over tokens with a loss, and over images."""

import torch
from g_mlp_pytorch import gMLP, gMLPVision

torch.manual_seed(0)
model = gMLP(num_tokens=32, dim=16, depth=2, seq_len=12, causal=True)
tokens = torch.randint(0, 32, (2, 12))
logits = model(tokens)
torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens).backward()
print(tuple(logits.shape), round(logits.sum().item(), 3))
print(round(sum(p.grad.abs().sum().item() for p in model.parameters() if p.grad is not None), 2))
vision = gMLPVision(image_size=16, patch_size=4, num_classes=5, dim=16, depth=2).eval()
print([round(v, 4) for v in vision(torch.randn(1, 3, 16, 16))[0].tolist()])
