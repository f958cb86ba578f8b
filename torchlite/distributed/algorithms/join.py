"""Uneven inputs: processes that have no more of them go on taking part in what the others do together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

from ...core.machine import functions
from ...core.values import shown_in, warn
from ..collectives import all_reduce
from ..work import Work

__all__ = ["Join", "JoinHook", "Joinable"]

_MANY = 1000  # iterations after which a process that waits says so


@shown_in("torch.distributed.algorithms.join")
class JoinHook:
    """What a process without inputs does in place of an iteration, and what all do at the end."""

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do what is to be done when all processes are through; some of them were the last to be."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        return _JoinConfig(enable=False, throw_on_early_termination=False, is_first_joinable=False)


@shown_in("torch.distributed.algorithms.join")
class Joinable(ABC):
    """What can be used with uneven inputs; it calls `Join.notify_join_context(self)` before its collectives."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without inputs does in this one's place."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the tensors by which processes tell whether they have inputs."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The processes that work together."""


@shown_in("torch.distributed.algorithms.join")
class Join:
    """A context around a loop over inputs, of which processes may have different numbers.

    Whoever leaves it early stands in for itself by the hooks of `joinables` until all have left. With
    `throw_on_early_termination` all raise an error instead, as soon as one is through.
    """

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable, self._throw = enable, throw_on_early_termination
        for number, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, number == 0)
        self._process_group = _the_one({joinable.join_process_group for joinable in joinables}, "process group")
        self._rank = self._process_group.rank()
        self._device = next(joinable.join_device for joinable in joinables)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._enable or type:
            return
        last, count = True, 0
        while True:
            left = self._others()
            if left == 0:
                break
            if self._throw:
                self._tell_throw()
            last = False
            count += 1
            if count == _MANY:
                warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank {self._rank} has at "
                    f"least {_MANY} fewer inputs than other currently-active ranks. This level of skew could lead to "
                    "performance degradation during training."
                )
            for hook in self._join_hooks:
                hook.main_hook()
        for hook in self._join_hooks:
            hook.post_hook(last)

    def _others(self) -> int:
        """How many processes have inputs still."""
        count = functions["zeros"](1, device=self._device)
        all_reduce(count, group=self._process_group)
        return int(count.item())

    def _tell_throw(self) -> None:
        """Let all who still have inputs know that this process has none."""
        all_reduce(functions["zeros"](1, device=self._device), group=self._process_group)
        raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tell the others that this process has inputs; what is returned counts those that have, when waited for."""
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work = all_reduce(functions["ones"](1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            through = functions["ones"](1, device=device)
            assert work is not None
            if work.result()[0].item() != group.size():
                all_reduce(through, group=group)
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


def _the_one(found: set[Any], what: str) -> Any:
    if len(found) > 1:
        raise ValueError(f"Using join context manager with multiple {what}s")
    return next(iter(found))
