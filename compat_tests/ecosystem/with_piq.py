"""Measures of image quality that need no trained network, and losses made of them."""

import piq
import torch

torch.manual_seed(0)
x = torch.rand(2, 3, 96, 96)
y = (x + 0.08 * torch.randn_like(x)).clamp(0, 1).requires_grad_()
for name in ("psnr", "ssim", "fsim", "gmsd", "vif_p", "vsi", "mdsi", "haarpsi", "srsim", "information_weighted_ssim"):
    try:
        print(name, getattr(piq, name)(x, y, data_range=1.0).item())
    except ValueError as error:
        print(name, error)
for loss in (piq.SSIMLoss(), piq.TVLoss(), piq.GMSDLoss(), piq.VIFLoss(), piq.HaarPSILoss()):
    value = loss(y) if isinstance(loss, piq.TVLoss) else loss(y, x)
    (gradient,) = torch.autograd.grad(value, y)
    print(type(loss).__name__, value.item(), gradient.norm().item())
print(piq.total_variation(x).item(), piq.brisque.__name__)
