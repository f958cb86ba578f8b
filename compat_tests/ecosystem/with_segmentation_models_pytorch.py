"""Decoders over encoders without pretrained weights, losses of masks, and counts of true and false."""

import segmentation_models_pytorch as smp
import torch

images = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
masks = (images[:, :1] > 0).float()
for build in (smp.Unet, smp.FPN, smp.Linknet, smp.DeepLabV3Plus, smp.PSPNet):
    torch.manual_seed(0)
    model = build("resnet18", encoder_weights=None, in_channels=3, classes=1).eval()
    out = model(images)
    out.mean().backward()
    print(build.__name__, tuple(out.shape), out.abs().mean().item())
print(sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
for loss in (
    smp.losses.DiceLoss("binary"), smp.losses.JaccardLoss("binary"), smp.losses.FocalLoss("binary"),
    smp.losses.LovaszLoss("binary"), smp.losses.TverskyLoss("binary"), smp.losses.SoftBCEWithLogitsLoss(),
):  # fmt: skip
    print(type(loss).__name__, loss(out, masks).item())
counts = smp.metrics.get_stats(out.sigmoid(), masks.long(), mode="binary", threshold=0.5)
print(smp.metrics.iou_score(*counts, reduction="micro").item(), smp.metrics.f1_score(*counts).mean().item())
