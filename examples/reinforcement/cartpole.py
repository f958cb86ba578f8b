"""A pole on a cart, to be kept upright by pushing the cart left or right: the classic small environment, in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

GRAVITY, CART_MASS, POLE_MASS, HALF_LENGTH, FORCE, DT = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
WIDEST, STEEPEST = 2.4, math.radians(12)


class CartPole:
    """The state is position and velocity of the cart, angle and angular velocity of the pole. Each step earns 1."""

    def __init__(self, seed: int = 0, longest: int = 200) -> None:
        self.random = np.random.default_rng(seed)
        self.longest = longest

    def reset(self) -> Any:
        self.state = self.random.uniform(-0.05, 0.05, size=4)
        self.steps = 0
        return self.state.astype(np.float32)

    def step(self, action: int) -> tuple[Any, float, bool, bool]:
        """The next state, the reward, whether the pole has fallen, and whether time is up."""
        _, speed, angle, turn = self.state
        force = FORCE if action == 1 else -FORCE
        sin, cos, mass = math.sin(angle), math.cos(angle), CART_MASS + POLE_MASS
        pull = (force + POLE_MASS * HALF_LENGTH * turn**2 * sin) / mass
        turning = (GRAVITY * sin - cos * pull) / (HALF_LENGTH * (4 / 3 - POLE_MASS * cos**2 / mass))
        acceleration = pull - POLE_MASS * HALF_LENGTH * turning * cos / mass
        self.state = self.state + DT * np.array([speed, acceleration, turn, turning])
        self.steps += 1
        fallen = abs(self.state[0]) > WIDEST or abs(self.state[2]) > STEEPEST
        return self.state.astype(np.float32), 1.0, bool(fallen), self.steps >= self.longest
