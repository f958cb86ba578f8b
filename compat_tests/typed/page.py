"""What type checkers say of torch's names: read by mypy and pyright, and run."""

from collections.abc import Callable
from typing import Any, assert_type

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(3, 4, requires_grad=True)

# ---- tensors

assert_type(x, torch.Tensor)
assert_type(x + 1, torch.Tensor)
assert_type(1 - x, torch.Tensor)
assert_type(2 / x, torch.Tensor)
assert_type(x @ x.T, torch.Tensor)
assert_type(-x, torch.Tensor)
assert_type(x > 0, torch.Tensor)
assert_type(x == x, torch.Tensor)
assert_type(x[0], torch.Tensor)
assert_type(x[None, ..., 1:], torch.Tensor)
assert_type(x.shape, torch.Size)
assert_type(x.dtype, torch.dtype)
assert_type(x.device, torch.device)
assert_type(x.requires_grad, bool)
assert_type(x.dim(), int)
assert_type(x.numel(), int)
assert_type(x.is_floating_point(), bool)
assert_type(x.sum(), torch.Tensor)
assert_type(x.sum(1, keepdim=True), torch.Tensor)
assert_type(x.max(dim=1).indices, torch.Tensor)
assert_type(x.permute(1, 0), torch.Tensor)
assert_type(x.permute((1, 0)), torch.Tensor)
assert_type(x.split(1), tuple[torch.Tensor, ...])
assert_type(x.detach().add_(1), torch.Tensor)
assert_type(x.grad, torch.Tensor | None)
x.sum().backward()

# ---- functions

assert_type(torch.zeros(2, 3), torch.Tensor)
assert_type(torch.zeros((2, 3), dtype=torch.float64), torch.Tensor)
assert_type(torch.arange(3), torch.Tensor)
assert_type(torch.cat([x, x]), torch.Tensor)
assert_type(torch.where(x > 0, x, 0), torch.Tensor)
assert_type(torch.where(x > 0), tuple[torch.Tensor, ...])
assert_type(torch.equal(x, x), bool)
assert_type(torch.std_mean(x), tuple[torch.Tensor, torch.Tensor])
values, places = torch.topk(x, 2)
assert_type(values, torch.Tensor)
assert_type(torch.is_tensor(x), bool)
assert_type(torch.float32, torch.dtype)
assert_type(torch.fft.rfft(x), torch.Tensor)
assert_type(torch.linalg.det(x @ x.T), torch.Tensor)
assert_type(torch.special.gammaln(x), torch.Tensor)
assert_type(torch.cuda.is_available(), bool)

# ---- autograd

assert_type(torch.autograd.grad(x.sum(), x), tuple[torch.Tensor, ...])
slope: Callable[[torch.Tensor], torch.Tensor] = torch.func.grad(lambda t: t.sin().sum())
assert_type(slope(x), torch.Tensor)
with torch.no_grad():
    assert_type(x * 2, torch.Tensor)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(t)
        return t**3

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> torch.Tensor:
        (t,) = ctx.saved_tensors
        slope: torch.Tensor = 3 * t**2 * grad_outputs[0]
        return slope


Cube.apply(x)

# ---- modules, optimizers, data


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 8, bias=False)
        self.scale = nn.Parameter(torch.ones(8))
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(8, 2))

    def forward(self, t: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.out(self.hidden(t) * self.scale)
        return made


model = Model()
assert_type(model.hidden, nn.Linear)
assert_type(model.hidden.weight, torch.Tensor)
assert_type(model.scale, nn.Parameter)
assert_type(model.train(), Model)
assert_type(F.relu(x), torch.Tensor)
assert_type(F.softmax(x, dim=-1), torch.Tensor)
assert_type(nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d)
loss = F.cross_entropy(model(x), torch.tensor([0, 1, 1]))
assert_type(loss, torch.Tensor)

optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
optimizer.zero_grad(set_to_none=True)
loss.backward()
optimizer.step()
scheduler.step()

for inputs, targets in DataLoader(TensorDataset(x.detach(), torch.arange(3)), batch_size=2, shuffle=True):
    assert isinstance(inputs, torch.Tensor) and isinstance(targets, torch.Tensor)
