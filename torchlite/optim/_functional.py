"""`torch.optim._functional`: the algorithms as functions of lists of tensors."""

from __future__ import annotations

from typing import Any

from .adadelta import adadelta
from .adagrad import adagrad
from .adam import adam
from .adamax import adamax
from .adamw import adamw
from .asgd import asgd
from .nadam import nadam
from .radam import radam
from .rmsprop import rmsprop
from .rprop import rprop
from .sgd import sgd

__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd",
    "sparse_adam",
]  # fmt: skip


def sparse_adam(*_: Any, **__: Any) -> None:
    """Adam for sparse gradients, of which there are none here."""
    raise NotImplementedError("torchlite has no sparse tensors, and so no sparse_adam: use torch.optim.adam.adam")
