"""Multiplications and parameters of networks, counted by hooks, with a rule of one's own."""

import torch
from thop import clever_format, profile


class Doubled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x


model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.PReLU(), torch.nn.AvgPool2d(2), Doubled(),
    torch.nn.Flatten(), torch.nn.Linear(512, 10), torch.nn.Softmax(-1),
)  # fmt: skip


def count(module: torch.nn.Module, inputs: tuple, output: torch.Tensor) -> None:
    module.total_ops += torch.DoubleTensor([output.numel()])


for options in ({}, {"custom_ops": {Doubled: count}}):
    ops, params = profile(model, inputs=(torch.randn(1, 3, 16, 16),), verbose=False, **options)
    print(ops, params, clever_format([ops, params], "%.3f"))
recurrent = torch.nn.LSTM(4, 8, batch_first=True)
print(profile(recurrent, inputs=(torch.randn(1, 5, 4),), verbose=False))
