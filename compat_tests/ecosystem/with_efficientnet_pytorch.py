"""An EfficientNet with random weights: its features, a step of training with drop-connect, and its state."""

import torch
from efficientnet_pytorch import EfficientNet

torch.manual_seed(0)
model = EfficientNet.from_name("efficientnet-b0", num_classes=7, image_size=64)
x = torch.randn(2, 3, 64, 64)
print(sum(p.numel() for p in model.parameters()), len(model.state_dict()))
model.train()
loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([1, 4]))
loss.backward()
print(loss.item(), sum(p.grad.norm().item() > 0 for p in model.parameters()))
model.eval()
print(tuple(model.extract_features(x).shape), [tuple(v.shape) for v in model.extract_endpoints(x).values()])
print(model(x).abs().sum().item())
