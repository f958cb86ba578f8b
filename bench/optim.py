"""Steps of optimizers, as they are by default and as one kernel, over few and many tensors."""

from __future__ import annotations

from .timing import Workload

MODELS = {
    "100 of 4x4": [(4, 4)] * 100,
    "1000 of 4x4": [(4, 4)] * 1000,
    "5 layers 64-64": [(64, 64), (64,)] * 5,
    "784-256-128-10": [(256, 784), (256,), (128, 256), (128,), (10, 128), (10,)],
    "1000x1000": [(1000, 1000)],
}
STEPS = {
    "SGD, momentum": "SGD(params, 1e-5, momentum=0.9)",
    "Adam": "Adam(params, 1e-5)",
    "AdamW, fused": "AdamW(params, 1e-5, fused=True)",
    "RMSprop": "RMSprop(params, 1e-5)",
    "Adagrad": "Adagrad(params, 1e-5)",
}
SETUP = """
params = [torch.rand(shape).requires_grad_() for shape in {shapes}]
for p in params:
    p.grad = torch.rand(p.shape)
"""
WORKLOADS = [
    Workload(f"{name}, {model}", "optimizer.step()", f"{SETUP.format(shapes=shapes)}optimizer = torch.optim.{step}")
    for model, shapes in MODELS.items()
    for name, step in STEPS.items()
] + [
    Workload(f"clip_grad_norm_, {model}", "nn.utils.clip_grad_norm_(params, 1.0)", SETUP.format(shapes=shapes))
    for model, shapes in MODELS.items()
]
