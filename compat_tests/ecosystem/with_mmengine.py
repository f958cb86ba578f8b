"""A model of mmengine: steps of training through its wrapper of optimizers, and a moving average of its weights."""

import torch
from mmengine.model import BaseModel, ExponentialMovingAverage
from mmengine.optim import OptimWrapper

torch.manual_seed(0)


class Line(BaseModel):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def forward(self, inputs: torch.Tensor, data_samples: torch.Tensor, mode: str = "tensor") -> object:
        out = self.layer(inputs)
        return {"loss": (out - data_samples).square().mean()} if mode == "loss" else out


model = Line()
average = ExponentialMovingAverage(model, momentum=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
wrapper = OptimWrapper(optimizer, clip_grad={"max_norm": 1.0}, accumulative_counts=2)
for step in range(6):
    inputs = torch.randn(8, 3)
    logged = model.train_step({"inputs": inputs, "data_samples": inputs.sum(1, keepdim=True)}, wrapper)
    average.update_parameters(model)
    print(f"{step} {logged['loss']:.5f} {average.module.layer.weight.sum():.5f}")
print(sorted(wrapper.state_dict()), f"{model.layer.bias.item():.5f}")
