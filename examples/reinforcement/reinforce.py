"""Learn to balance a pole by REINFORCE: do more of what was followed by more reward than usual."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from cartpole import CartPole
from torch import Tensor, nn
from torch.distributions import Categorical

GAMMA = 0.99


class Policy(nn.Module):
    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.affine1 = nn.Linear(4, hidden)
        self.dropout = nn.Dropout(p=0.2)
        self.affine2 = nn.Linear(hidden, 2)

    def forward(self, state: Tensor) -> Any:
        hidden = torch.relu(self.dropout(self.affine1(state)))
        return Categorical(logits=self.affine2(hidden))


def episode(environment: Any, policy: Policy) -> tuple[Tensor, list[float]]:
    """The log probabilities of what was done, and the rewards."""
    state, log_probs, rewards, done = environment.reset(), [], [], False
    while not done:
        actions = policy(torch.from_numpy(state))
        action = actions.sample()
        log_probs.append(actions.log_prob(action))
        state, reward, fallen, late = environment.step(action.item())
        rewards.append(reward)
        done = fallen or late
    return torch.stack(log_probs), rewards


def returns(rewards: list[float]) -> Tensor:
    """What was still to come at each step, later rewards counting for less, brought to mean 0 and deviation 1."""
    total, found = 0.0, []
    for reward in reversed(rewards):
        total = reward + GAMMA * total
        found.append(total)
    discounted = torch.tensor(found[::-1])
    return (discounted - discounted.mean()) / (discounted.std() + 1e-6)


def main(steps: int) -> None:
    torch.manual_seed(543)
    environment, policy = CartPole(seed=543), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    running = 10.0

    for step in range(steps):
        log_probs, rewards = episode(environment, policy)
        loss = -(log_probs * returns(rewards)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running = 0.95 * running + 0.05 * sum(rewards)
        if step < 5 or step % 20 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}  length {len(rewards):3d}  average {running:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="REINFORCE on a cart pole")
    parser.add_argument("--steps", type=int, default=121)
    main(parser.parse_args().steps)
