"""Models of timm, forward and backward."""

import timm
import torch

x, target = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0)), torch.tensor([1, 3])
for name, options in (
    ("resnet18", {}),
    ("vit_tiny_patch16_224", {"img_size": 32}),
    ("mobilenetv3_small_050", {}),
    ("convnext_atto", {}),
):
    torch.manual_seed(1)
    model = timm.create_model(name, num_classes=10, **options).eval()
    print(name, sum(p.numel() for p in model.parameters()), model(x).abs().sum().item())
    loss = torch.nn.functional.cross_entropy(model(x), target)
    loss.backward()
    print(loss.item(), sum(p.grad.norm().item() for p in model.parameters()))
