"""Layers, losses and schedules of fvcore."""

import torch
from fvcore.common.param_scheduler import CosineParamScheduler, LinearParamScheduler
from fvcore.nn import giou_loss, sigmoid_focal_loss, smooth_l1_loss
from fvcore.nn.weight_init import c2_msra_fill
from fvcore.transforms.transform import CropTransform, HFlipTransform

torch.manual_seed(0)
x, y = torch.randn(8, 4, requires_grad=True), (torch.rand(8, 4) > 0.5).float()
loss = sigmoid_focal_loss(x, y, reduction="mean") + smooth_l1_loss(x, y, 0.5, reduction="sum")
loss.backward()
print(loss.item(), x.grad.norm().item())
a = torch.tensor([[0.0, 0, 2, 2], [1, 1, 3, 4]])
print(giou_loss(a, a + 0.5).tolist())
conv = torch.nn.Conv2d(3, 4, 3)
c2_msra_fill(conv)
print(conv.weight.sum().item(), CosineParamScheduler(1, 0)(0.3), LinearParamScheduler(1, 0)(0.3))
image = torch.rand(6, 8, 3).numpy()
print(CropTransform(1, 1, 4, 3).apply_image(image).sum(), HFlipTransform(8).apply_coords(image[0, :, :2]).sum())
