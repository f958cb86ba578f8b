"""When parameters are averaged: every so many steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ....core.values import warn
from ...process_group import Group
from ...world import _get_default_group
from .utils import average_parameters_or_parameter_groups

__all__ = ["ModelAverager", "PeriodicModelAverager"]

# What is said where parameters meet in each step: {} names the period.
_NEEDLESS = (
    "When {} is 1, no need to use model averaging because the communication cost of all-reducing parameters will be no "
    "less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. Therefore, only "
    "DistributedDataParallel should be used for this case."
)


def checked_warmup(steps: int) -> int:
    """For how many steps nothing is averaged; none of less than nothing."""
    if steps < 0:
        raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
    return steps


def warn_of_each_step(longest: int, name: str) -> None:
    """Say so, where parameters would be averaged as often as gradients."""
    if longest == 1:
        warn(_NEEDLESS.format(name))


class ModelAverager(ABC):
    """What averages parameters now and then; `step` counts how often it was asked to."""

    def __init__(self, process_group: Group = None) -> None:
        self.process_group = process_group or _get_default_group()
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or those of an optimizer's groups, where it is time."""


class PeriodicModelAverager(ModelAverager):
    """Averages the parameters that have gradients every `period` steps, after `warmup_steps`.

    It is called after each step of the optimizer, or by a `PostLocalSGDOptimizer`. In the first steps, gradients are
    averaged instead, by `DistributedDataParallel` with `post_localSGD_hook`.
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Group = None) -> None:
        super().__init__(process_group)
        self.warmup_steps = checked_warmup(warmup_steps)
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        warn_of_each_step(period, "period")
        self.period = period

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step, and average parameters where it is time."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
