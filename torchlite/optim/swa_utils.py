"""`torch.optim.swa_utils`: averages of models over training, and the schedule that goes with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Literal

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor, functions
from ..core.values import DeviceLike, shown_in
from ..nn.modules.module import Module
from .lr_scheduler.scheduler import LRScheduler, _format_param, _warn_get_lr_called_within_step
from .optimizer import Optimizer

__all__ = [
    "AveragedModel", "update_bn", "SWALR", "get_ema_multi_avg_fn", "get_swa_multi_avg_fn", "get_ema_avg_fn",
    "get_swa_avg_fn",
]  # fmt: skip


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that updates a list of exponential averages with factor `decay`."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: list[Tensor], current_param_list: list[Tensor], _: Any) -> None:
        _lerp(ema_param_list, current_param_list, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """What updates a list of averages in which all models weigh the same."""

    @no_grad()
    def swa_update(averaged_param_list: list[Tensor], current_param_list: list[Tensor], num_averaged: Any) -> None:
        _lerp(averaged_param_list, current_param_list, 1 / (float(num_averaged) + 1))

    return swa_update


def _lerp(averages: list[Tensor], values: list[Tensor], weight: float) -> None:
    for average, value in zip(averages, values):
        if average.is_floating_point() or average.is_complex():
            average.lerp_(value, weight)
        else:
            average.add_(((value - average) * weight).to(average.dtype))


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function that gives the next value of an exponential average with factor `decay`."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """What gives the next value of an average in which all models weigh the same."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


@shown_in("torch.optim.swa_utils")
class AveragedModel(Module):
    """A model whose parameters are averages of those of another over time.

    Without functions of their own, all models seen weigh the same. Buffers are copied, or averaged too with
    `use_buffers`.
    """

    n_averaged: Tensor

    def __init__(
        self, model: Module, device: DeviceLike = None, avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
        multi_avg_fn: Callable[[Any, Any, Any], None] | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", functions["tensor"](0, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _averaged(self, model: Module) -> list[Tensor]:
        return [*model.parameters(), *(model.buffers() if self.use_buffers else ())]

    def update_parameters(self, model: Module) -> None:
        """Take the model as it is now into the average."""
        averages = [a.detach() for a in self._averaged(self.module)]
        values = [v.detach().to(a.device) for a, v in zip(averages, self._averaged(model))]
        if self.n_averaged == 0:
            for average, value in zip(averages, values):
                average.copy_(value)
        elif self.avg_fn is None:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            update(averages, values, self.n_averaged.to(averages[0].device))
        else:
            for average, value in zip(averages, values):
                average.copy_(self.avg_fn(average, value, self.n_averaged.to(average.device)))
        if not self.use_buffers:
            for average, value in zip(self.module.buffers(), model.buffers()):
                average.detach().copy_(value.detach().to(average.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: DeviceLike = None) -> None:
    """Compute the running statistics of the batch norms in a model anew, from the inputs in `loader`."""
    from ..nn.modules import batchnorm

    norms = [m for m in model.modules() if isinstance(m, batchnorm._BatchNorm)]
    momenta = [m.momentum for m in norms]
    if not norms:
        return
    for m in norms:
        m.reset_running_stats()
    was_training = model.training
    model.train()
    for m in norms:
        m.momentum = None  # every batch weighs the same
    for given in loader:
        batch = given[0] if isinstance(given, (list, tuple)) else given
        model(batch if device is None else batch.to(device))
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum
    model.train(was_training)


@shown_in("torch.optim.swa_utils")
class SWALR(LRScheduler):
    """From the learning rate to `swa_lr` in `anneal_epochs` epochs, where it stays."""

    def __init__(
        self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos", last_epoch: int = -1,
    ) -> None:  # fmt: skip
        rates = _format_param("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups):
            group["swa_lr"] = rate
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr: Any, swa_lr: Any, alpha: float) -> Any:
        """From where a rate came that has gone the part `alpha` of its way."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def get_lr(self) -> list[Any]:
        _warn_get_lr_called_within_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        span = max(1, self.anneal_epochs)
        before, now = [self.anneal_func(max(0, min(1, t / span))) for t in (step - 1, step)]
        rates = []
        for group in self.optimizer.param_groups:
            start = self._get_initial_lr(group["lr"], group["swa_lr"], before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates

    def state_dict(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "anneal_func")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)
        self._set_anneal_func(self._anneal_strategy)
