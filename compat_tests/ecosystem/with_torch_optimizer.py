"""Twenty optimizers of torch-optimizer on one small network."""

import torch
import torch_optimizer

for name in (
    "A2GradUni", "AccSGD", "AdaBelief", "AdaBound", "AdaMod", "Adafactor", "Adahessian", "AdamP", "AggMo", "Apollo",
    "DiffGrad", "Lamb", "LARS", "MADGRAD", "NovoGrad", "PID", "QHAdam", "RAdam", "SGDP", "Shampoo", "SWATS", "Yogi",
):  # fmt: skip
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    x = torch.randn(16, 3)
    options = {} if name in ("A2GradUni", "Adafactor") else {"lr": 1e-2}
    optimizer = getattr(torch_optimizer, name)(model.parameters(), **options)
    for _ in range(5):
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward(create_graph=name == "Adahessian")
        optimizer.step()
    print(name, loss.item())
