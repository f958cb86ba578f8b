"""`torch.optim._multi_tensor`: the optimizers with `foreach=True`."""

from __future__ import annotations

import functools
from typing import Any

from . import ASGD, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop

__all__ = ["ASGD", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW"]


def partialclass(algorithm: Any) -> type:
    class NewCls(algorithm):
        __init__ = functools.partialmethod(algorithm.__init__, foreach=True)

    return NewCls


for _name in __all__:
    globals()[_name] = partialclass(globals()[_name])
