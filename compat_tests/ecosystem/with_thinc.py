"""A network of torch as a layer of thinc: trained by thinc's optimizer, its gradients handed on, its bytes kept."""

import numpy
import torch
from thinc.api import Adam, PyTorchWrapper, Softmax, chain, fix_random_seed, torch2xp, xp2torch

fix_random_seed(0)
torch.manual_seed(0)
layer = PyTorchWrapper(torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU()))
x = numpy.random.default_rng(0).normal(size=(12, 6)).astype("f")
y = numpy.eye(2, dtype="f")[(x.sum(1) > 0).astype(int)]
model = chain(layer, Softmax(2, 8))
model.initialize(X=x, Y=y)
optimizer = Adam(0.05)
for _ in range(5):
    guess, backprop = model.begin_update(x)
    gradient = backprop((guess - y) / len(x))
    model.finish_update(optimizer)
    print(float(((guess - y) ** 2).sum()), float(abs(gradient).sum()))
print(torch2xp(xp2torch(x) * 2).sum(), len(layer.to_bytes()) > 0)
