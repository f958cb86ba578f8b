"""Diffusion over images and over series: losses and gradients of small UNets, and samples."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D

torch.manual_seed(0)
model = Unet(dim=8, dim_mults=(1, 2), channels=1, flash_attn=False)
diffusion = GaussianDiffusion(model, image_size=8, timesteps=10, sampling_timesteps=3)
loss = diffusion(torch.rand(2, 1, 8, 8))
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
print(diffusion.sample(batch_size=1).sum().item())
series = GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=2), seq_length=16, timesteps=5)
print(series(torch.rand(2, 2, 16)).item(), series.sample(batch_size=1).sum().item())
