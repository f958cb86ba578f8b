"""The operations of models, counted by its own hooks."""

import torch
from ptflops import get_model_complexity_info

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(), torch.nn.Linear(8, 4),
)
for backend in ("pytorch", "aten"):
    print(backend, get_model_complexity_info(
        model, (3, 16, 16), as_strings=False, print_per_layer_stat=False, backend=backend,
    ))
