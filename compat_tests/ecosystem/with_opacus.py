"""Training with differential privacy: gradients of samples, clipped, with noise."""

import warnings

import torch
from opacus import PrivacyEngine
from opacus.grad_sample import GradSampleModule

warnings.simplefilter("ignore")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 2))
x, y = torch.randn(16, 1, 6, 6), torch.randint(0, 2, (16,))
wrapped = GradSampleModule(model)
torch.nn.functional.cross_entropy(wrapped(x), y).backward()
print([(p.grad_sample.shape, p.grad_sample.norm().item()) for p in wrapped.parameters()])
model = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x.flatten(1)[:, :8], y), 4)
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(
    module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0,
    noise_generator=torch.Generator().manual_seed(3), poisson_sampling=False,
)
for a, b in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(a), b)
    loss.backward()
    optimizer.step()
    print(loss.item())
print(engine.get_epsilon(1e-5))
