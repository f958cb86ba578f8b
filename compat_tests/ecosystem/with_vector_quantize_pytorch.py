"""Quantisation of vectors by codebooks, residual, finite-scalar and lookup-free, with losses and moving averages."""

import torch
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

torch.manual_seed(0)
x = torch.randn(2, 16, 8)
quantizer = VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0)
for _ in range(3):
    quantized, indices, loss = quantizer(x)
    print(quantized.norm().item(), indices.sum().item(), loss.sum().item())
residual = ResidualVQ(dim=8, num_quantizers=3, codebook_size=8)
quantized, indices, losses = residual(x)
print(quantized.norm().item(), tuple(indices.shape), losses.sum().item())
made, codes = FSQ([5, 5, 4], dim=8)(x)
print(tuple(made.shape), made.abs().sum().item(), codes[0, :6].tolist())
made, codes, entropy = LFQ(codebook_size=16, dim=8)(x.requires_grad_())
(made.sum() + entropy).backward()
print(made.abs().sum().item(), codes[0, :6].tolist(), entropy.item(), x.grad.norm().item())
