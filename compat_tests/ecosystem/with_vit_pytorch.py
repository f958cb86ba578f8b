"""Vision transformers of several kinds, forward and backward."""

import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.max_vit import MaxViT

torch.manual_seed(0)
images = torch.randn(2, 3, 32, 32)
sizes = {"num_classes": 5, "dim": 32, "heads": 2}
models = [
    ViT(image_size=32, patch_size=8, depth=2, mlp_dim=64, **sizes),
    SimpleViT(image_size=32, patch_size=8, depth=2, mlp_dim=64, **sizes),
    CaiT(image_size=32, patch_size=8, depth=1, cls_depth=1, mlp_dim=64, **sizes),
    CCT(img_size=32, embedding_dim=32, n_conv_layers=1, num_layers=1, num_heads=2, num_classes=5),
    MaxViT(num_classes=5, dim=16, depth=(1,), window_size=4, dim_head=8),
]
for model in models:
    model.eval()
    out = model(images)
    out.square().sum().backward()
    norms = sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None)
    print(type(model).__name__, tuple(out.shape), out.abs().sum().item(), norms)
