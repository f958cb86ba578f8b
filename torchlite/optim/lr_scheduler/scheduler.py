"""`LRScheduler`: what changes the learning rates of an optimizer, epoch by epoch."""

from __future__ import annotations

import functools
import weakref
from typing import Any

from ...core.machine import Tensor
from ...core.state import Holding
from ...core.values import reduce_ex, warn
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def _param_groups_val_list(optimizer: Optimizer, key: str) -> list[Any]:
    """The values of an option in all groups; of tensors, copies."""
    return [copied(group[key]) for group in optimizer.param_groups]


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _update_param_group_val(group: dict[str, Any], key: str, value: Any) -> None:
    """Give an option of a group a value; a tensor stays the same tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value)
    else:
        group[key] = value


def _format_param(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for all groups as a list, or the list given, one for each."""
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in optimizer.param_groups]
    if len(value) != len(optimizer.param_groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {len(optimizer.param_groups)}."
        )
    return [copied(v) for v in value]


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _warn_get_lr_called_within_step(lr_scheduler: LRScheduler) -> None:
    """Called first in `get_lr`, says that `get_last_lr` is meant where no step is being made."""
    if not lr_scheduler._get_lr_called_within_step:
        warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")


class LRScheduler:
    """The base of schedulers. A subclass says in `get_lr` what the learning rates of the groups are to be next."""

    _get_lr_called_within_step = False
    _is_initial = False

    optimizer: Optimizer
    base_lrs: list[Any]
    last_epoch: int
    _last_lr: list[Any]
    _step_count: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer "
                    "state\n2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs = _param_groups_val_list(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _mark_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the learning rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    __reduce_ex__ = reduce_ex

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler knows, but for its optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The learning rates that were set last."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rates to be set next, one for each group."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on by an epoch. Call this after the optimizer's steps of the epoch."""
        if self._step_count == 1:
            step = self.optimizer.step
            if not hasattr(step, "_wrapped_by_lr_sched"):
                warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. " + _ORDER,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                    "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
                    "to do this will result in PyTorch skipping the first value of the learning rate schedule. "
                    + _ORDER,
                )
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with _enable_get_lr_call(self):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
            self._set_lr(rates)

    def _set_lr(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates):
            _update_param_group_val(group, "lr", rate)
        self._last_lr = _param_groups_val_list(self.optimizer, "lr")

    def _rates(self) -> list[Any]:
        """The learning rates as they are."""
        return _param_groups_val_list(self.optimizer, "lr")

    def _scaled(self, factor: Any) -> list[Any]:
        """The learning rates, multiplied."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _enable_get_lr_call(Holding):
    """Inside, `get_lr` is called by a step."""

    def __init__(self, o: LRScheduler) -> None:
        super().__init__(o, _get_lr_called_within_step=True)


class _LRScheduler(LRScheduler):
    """The name that `LRScheduler` had."""


def _mark_steps(optimizer: Optimizer) -> None:
    """See that the optimizer remembers that it made a step."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return

    function, reference = step.__func__, weakref.ref(optimizer)  # type: ignore[attr-defined]

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        self: Any = reference()  # were it `optimizer` itself, this would hold itself
        self._opt_called = True
        return function.__get__(self, type(self))(*args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = wrapper  # type: ignore[method-assign]
