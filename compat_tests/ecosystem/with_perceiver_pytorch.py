"""Perceivers over images and over sequences: a step of training, and predictions."""

import torch
from perceiver_pytorch import Perceiver, PerceiverIO

torch.manual_seed(0)
options = {"depth": 2, "num_latents": 8, "latent_dim": 16, "cross_dim_head": 8, "latent_dim_head": 8}
model = Perceiver(
    input_channels=3, input_axis=2, num_freq_bands=4, max_freq=8.0, cross_heads=1, latent_heads=2, num_classes=4,
    self_per_cross_attn=2, **options,
)  # fmt: skip
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
images, labels = torch.randn(2, 8, 8, 3), torch.tensor([1, 3])
for _ in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    print(loss.item())
print(model.eval()(images).tolist())

io = PerceiverIO(dim=6, queries_dim=5, logits_dim=3, cross_heads=1, latent_heads=2, **options)
x, queries = torch.randn(2, 10, 6), torch.randn(4, 5)
out = io(x, queries=queries, mask=torch.rand(2, 10) > 0.3)
out.square().mean().backward()
print(out.shape, out.sum().item(), sum(p.grad.norm().item() for p in io.parameters() if p.grad is not None))
