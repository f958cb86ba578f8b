"""Balance a pole by deep Q-learning: a network estimates what each action is worth in the long run.

Transitions are kept and learned from in random order; what comes after is judged by a second network, which follows the
first slowly; and actions are random at first, then less and less so.
"""

from __future__ import annotations

import argparse
import copy
import random
from collections import deque
from typing import Any

import numpy as np
import torch
from cartpole import CartPole
from torch import Tensor, nn

GAMMA, BATCH, FOLLOW = 0.98, 64, 0.02


class Memory:
    """The latest transitions, each (state, action, reward, next state, whether the pole fell)."""

    def __init__(self, size: int = 5000) -> None:
        self.transitions: deque[Any] = deque(maxlen=size)

    def sample(self, choose: Any) -> tuple[Tensor, ...]:
        columns = zip(*choose.sample(self.transitions, BATCH))
        states, actions, rewards, following, fallen = (torch.from_numpy(np.array(column)) for column in columns)
        return states, actions, rewards.float(), following, fallen


def network(hidden: int = 64) -> nn.Module:
    return nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2))


def loss_of(online: nn.Module, target: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
    states, actions, rewards, following, fallen = batch
    worth = online(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = online(following).argmax(dim=1, keepdim=True)  # chosen by one network, valued by the other
        later = target(following).gather(1, best).squeeze(1).masked_fill(fallen, 0.0)
    return nn.functional.smooth_l1_loss(worth, rewards + GAMMA * later)


def main(steps: int) -> None:
    torch.manual_seed(0)
    choose = random.Random(0)
    environment, memory = CartPole(), Memory()
    online = network()
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam(online.parameters(), lr=2e-3, amsgrad=True)

    state, lengths = environment.reset(), [10]
    for step in range(-BATCH, steps):  # a few moves first to fill the memory
        if choose.random() < max(0.05, 1 - step / 500):
            action = choose.randrange(2)
        else:
            with torch.no_grad():
                action = online(torch.from_numpy(state)).argmax().item()
        following, reward, fallen, late = environment.step(action)
        memory.transitions.append((state, action, reward, following, fallen))
        state = following
        if fallen or late:
            lengths.append(environment.steps)
            state = environment.reset()
        if step < 0:
            continue

        loss = loss_of(online, target, memory.sample(choose))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 10)
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), online.parameters()):
                slow.lerp_(fast, FOLLOW)
        if step < 5 or step % 200 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}  lately upright for {np.mean(lengths[-10:]):.1f} moves")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Deep Q-learning on a cart pole")
    parser.add_argument("--steps", type=int, default=2001)
    main(parser.parse_args().steps)
