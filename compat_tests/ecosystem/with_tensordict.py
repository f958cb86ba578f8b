"""Dictionaries of tensors: indexing, stacking, modules, tensorclasses."""

import torch
from tensordict import TensorDict, tensorclass
from tensordict.nn import TensorDictModule, TensorDictSequential

torch.manual_seed(0)
data = TensorDict({"a": torch.randn(4, 3), "in": {"b": torch.arange(8).reshape(4, 2)}}, batch_size=[4])
print(data[1:3]["in", "b"].tolist(), data.shape, sorted(map(str, data.keys(True))))
print(torch.stack([data, data], 0).batch_size, data.reshape(2, 2)["a"].shape, (data["a"] + 1).sum().item())
print(data.apply(lambda t: t * 2)["in", "b"].tolist(), data.flatten_keys(".").keys())
net = TensorDictSequential(
    TensorDictModule(torch.nn.Linear(3, 5), ["a"], ["h"]), TensorDictModule(torch.tanh, ["h"], ["out"])
)
print(net(data)["out"].sum().item())


@tensorclass
class Pair:
    x: torch.Tensor
    y: torch.Tensor


pair = Pair(torch.ones(3), torch.zeros(3), batch_size=[3])
print(pair[0].x.item(), torch.cat([pair, pair]).batch_size)
