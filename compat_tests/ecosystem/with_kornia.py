"""Filters, geometry, colours and augmentation of images."""

import kornia
import torch

torch.manual_seed(0)
x = torch.rand(2, 3, 16, 16, requires_grad=True)
print(kornia.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)).sum().item(), kornia.filters.sobel(x).sum().item())
print(kornia.color.rgb_to_hsv(x).mean().item(), kornia.color.rgb_to_grayscale(x).mean().item())
matrix = kornia.geometry.get_rotation_matrix2d(torch.full((2, 2), 8.0), torch.tensor([30.0, 60.0]), torch.ones(2, 2))
turned = kornia.geometry.warp_affine(x, matrix, (16, 16))
turned.sum().backward()
print(turned.sum().item(), x.grad.abs().sum().item())
print(kornia.morphology.dilation(x.detach(), torch.ones(3, 3)).sum().item())
print(kornia.losses.ssim_loss(x, x * 0.9, 5).item(), kornia.feature.harris_response(x[:, :1]).sum().item())
