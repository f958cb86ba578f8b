"""Structural similarity of images, at one scale and at several, as a number and as a loss."""

import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim

torch.manual_seed(0)
a = torch.rand(2, 3, 180, 180)
b = (a + 0.1 * torch.randn_like(a)).clamp(0, 1).requires_grad_()
print(ssim(a, b, data_range=1.0).item(), ssim(a, b, data_range=1.0, size_average=False).tolist())
print(ms_ssim(a, b, data_range=1.0).item(), ms_ssim(a, b, data_range=1.0, win_size=7).item())
for module in (SSIM(data_range=1.0, channel=3), MS_SSIM(data_range=1.0, channel=3, K=(0.01, 0.4))):
    loss = 1 - module(a, b)
    (gradient,) = torch.autograd.grad(loss, b)
    print(loss.item(), gradient.norm().item())
