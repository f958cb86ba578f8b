"""Balance poles by advantage actor-critic (A2C): eight carts at once, a few moves at a time.

The critic learns what a state is worth; the actor does more of what turned out better than that. An entropy bonus keeps
it from being too sure too soon.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from cartpole import CartPole
from torch import Tensor, nn
from torch.distributions import Categorical

CARTS, MOVES, GAMMA = 8, 16, 0.99


class ActorCritic(nn.Module):
    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.actor = nn.Linear(hidden, 2)
        self.critic = nn.Linear(hidden, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight, gain=0.1 if layer is self.actor else 1.0)
                nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor) -> tuple[Any, Tensor]:
        hidden = self.body(states)
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


class Carts:
    """Several environments side by side, each begun anew when it ends."""

    def __init__(self) -> None:
        self.each = [CartPole(seed) for seed in range(CARTS)]
        self.states = np.stack([cart.reset() for cart in self.each])
        self.lengths = [10.0]

    def step(self, actions: list[int]) -> tuple[Tensor, Tensor]:
        """What was earned, and where it goes on."""
        goes_on = np.ones(CARTS, dtype=np.float32)
        for n, (cart, action) in enumerate(zip(self.each, actions)):
            self.states[n], _, fallen, late = cart.step(action)
            if fallen or late:
                goes_on[n] = 0.0
                self.lengths.append(cart.steps)
                self.states[n] = cart.reset()
        return torch.ones(CARTS), torch.from_numpy(goes_on)


def main(steps: int) -> None:
    torch.manual_seed(0)
    carts, model = Carts(), ActorCritic()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3, alpha=0.99, eps=1e-5)

    for step in range(steps):
        history = []
        for _ in range(MOVES):
            actions, values = model(torch.from_numpy(carts.states.copy()))
            chosen = actions.sample()
            rewards, goes_on = carts.step(chosen.tolist())
            history.append((actions.log_prob(chosen), values, actions.entropy(), rewards, goes_on))
        with torch.no_grad():
            target = model(torch.from_numpy(carts.states.copy()))[1]

        policy_loss = value_loss = entropy = torch.zeros(())
        for log_probs, values, spread, rewards, goes_on in reversed(history):
            target = rewards + GAMMA * goes_on * target
            advantage = target - values.detach()
            policy_loss = policy_loss - (log_probs * advantage).mean() / MOVES
            value_loss = value_loss + nn.functional.smooth_l1_loss(values, target) / MOVES
            entropy = entropy + spread.mean() / MOVES
        loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        if step < 5 or step % 50 == 0:
            lately = np.mean(carts.lengths[-20:])
            print(f"step {step:4d}  loss {loss.item():.6f}  lately upright for {lately:.1f} moves")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Advantage actor-critic on cart poles")
    parser.add_argument("--steps", type=int, default=251)
    main(parser.parse_args().steps)
