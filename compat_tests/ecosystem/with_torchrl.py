"""A replay buffer, a policy, and the losses of an actor-critic."""

import logging

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.modules import MLP, QValueActor
from torchrl.objectives import DQNLoss, ValueEstimators

logging.getLogger("torchrl").setLevel(logging.WARNING)  # which tells the time
torch.manual_seed(0)
buffer = ReplayBuffer(storage=LazyTensorStorage(100), batch_size=16)
buffer.extend(TensorDict({"observation": torch.randn(50, 4), "n": torch.arange(50)}, [50]))
print(len(buffer), buffer.sample()["observation"].shape)
actor = QValueActor(MLP(in_features=4, out_features=3, depth=1, num_cells=16), in_keys=["observation"], spec=None,
                    action_space="one-hot")
print(actor(TensorDict({"observation": torch.randn(5, 4)}, [5]))["action"].sum(1).tolist())
loss_of = DQNLoss(actor, action_space="one-hot", delay_value=True)
loss_of.make_value_estimator(ValueEstimators.TD0, gamma=0.9)
batch = TensorDict({
    "observation": torch.randn(8, 4), "action": torch.nn.functional.one_hot(torch.arange(8) % 3, 3),
    "next": {"observation": torch.randn(8, 4), "reward": torch.randn(8, 1), "done": torch.zeros(8, 1).bool(),
             "terminated": torch.zeros(8, 1).bool()},
}, [8])
loss = loss_of(batch)["loss"]
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in loss_of.parameters() if p.grad is not None))
print(TensorDictModule.__name__)
