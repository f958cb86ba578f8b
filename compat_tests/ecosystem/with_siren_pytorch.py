"""A network of sines that learns an image by its coordinates, and one that is modulated."""

import torch
from siren_pytorch import Sine, SirenNet, SirenWrapper

torch.manual_seed(0)
net = SirenNet(
    dim_in=2, dim_hidden=16, dim_out=3, num_layers=3, final_activation=torch.nn.Sigmoid(), w0_initial=30.0
)
wrapper = SirenWrapper(net, image_width=6, image_height=5)
image = torch.rand(1, 3, 5, 6)
optimizer = torch.optim.Adam(wrapper.parameters(), lr=1e-3)
for _ in range(4):
    loss = wrapper(image)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(wrapper().shape, wrapper().sum().item(), Sine(2.0)(torch.arange(3.0)).tolist())
latent = torch.randn(8, requires_grad=True)
modulated = SirenWrapper(net, latent_dim=8, image_width=6, image_height=5)
modulated(image, latent=latent).backward()
print(latent.grad.tolist())
