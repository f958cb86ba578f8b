"""A Learner's one-cycle training with metrics and callbacks, then predictions and a saved learner."""

import tempfile
from functools import partial

import torch
from fastai.basics import Adam, DataLoader, DataLoaders, Learner, accuracy
from fastai.callback.schedule import fit_one_cycle, lr_find  # noqa: F401
from fastai.layers import ConvLayer, SelfAttention
from fastai.losses import CrossEntropyLossFlat, FocalLossFlat, LabelSmoothingCrossEntropy

torch.manual_seed(0)
x = torch.randn(64, 1, 8, 8)
y = (x.mean((1, 2, 3)) > 0).long()
data = list(zip(x, y))
loaders = DataLoaders(DataLoader(data[:48], bs=16), DataLoader(data[48:], bs=16))
model = torch.nn.Sequential(ConvLayer(1, 16), SelfAttention(16), torch.nn.Flatten(), torch.nn.Linear(1024, 2))
learner = Learner(
    loaders, model, loss_func=CrossEntropyLossFlat(), opt_func=partial(Adam, wd=0.01), metrics=accuracy,
    path=tempfile.mkdtemp(),
)  # fmt: skip
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(3, 1e-2)
    print(*[f"{float(v):.5f}" for row in learner.recorder.values for v in row])
    predictions, targets = learner.get_preds()
    print(predictions.sum().item(), predictions[:, 0].norm().item(), targets.sum().item())
    learner.save("kept")
    learner.load("kept")
    learner.freeze()
    print(sum(p.requires_grad for p in learner.model.parameters()))
for loss in (FocalLossFlat(), LabelSmoothingCrossEntropy()):
    print(loss(predictions, targets).item())
