"""A small UNet: a step of training, and sampling with two schedulers."""

import torch
from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
scheduler = DDPMScheduler(num_train_timesteps=20)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
clean = torch.randn(2, 1, 8, 8)
for step in range(2):
    noise, t = torch.randn_like(clean), torch.tensor([3, 11])
    loss = torch.nn.functional.mse_loss(model(scheduler.add_noise(clean, noise, t), t).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
for kind in (DDPMScheduler, DDIMScheduler):
    sampler = kind(num_train_timesteps=20)
    sampler.set_timesteps(3)
    image, generator = torch.ones(1, 1, 8, 8), torch.Generator().manual_seed(2)
    with torch.no_grad():
        for t in sampler.timesteps:
            image = sampler.step(model(image, t).sample, t, image, generator=generator).prev_sample
    print(kind.__name__, image.sum().item(), image.std().item())
