"""Averages among neighbours often, and among all processes seldom."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from ...process_group import Group
from ...world import new_subgroups
from .averagers import ModelAverager, checked_warmup, warn_of_each_step
from .utils import average_parameters_or_parameter_groups

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """Averages parameters every so many steps among so many processes: `period_group_size_dict` has both, in order.

    At a step that several periods divide, the last of them counts, which is that of the largest group. The last
    group is all of `process_group`.
    """

    def __init__(
        self, period_group_size_dict: Mapping[int, int] | None = None, warmup_steps: int = 0,
        process_group: Group = None,
    ) -> None:  # fmt: skip
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict)
        if self._periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        warn_of_each_step(self._periods[-1], "the maximum period in arg ``period_group_size_dict``")
        *sizes, last = period_group_size_dict.values()
        if last != self.process_group.size():
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {last} must be equal to the size of arg "
                f"``process_group`` {self.process_group.size()}."
            )
        groups = [new_subgroups(group_size=size, group=self.process_group)[0] for size in sizes] + [self.process_group]
        self.period_process_group_dict = OrderedDict(zip(self._periods, groups, strict=True))
        self.warmup_steps = checked_warmup(warmup_steps)

    def _find_process_group(self) -> Any:
        """That of the last period that divides this step."""
        return next((self.period_process_group_dict[p] for p in reversed(self._periods) if self.step % p == 0), None)

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step, and average parameters where it is time, among those whose turn it is."""
        if self.step >= self.warmup_steps and (group := self._find_process_group()) is not None:
            average_parameters_or_parameter_groups(params, group)
        self.step += 1
