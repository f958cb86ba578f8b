"""`torch.optim._multi_tensor`: the optimizers with `foreach=True`."""

from __future__ import annotations

import functools
from typing import Any

from . import ASGD, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop

__all__ = ["ASGD", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW"]


def _foreach(algorithm: type) -> type:
    made: Any = functools.partialmethod(algorithm.__init__, foreach=True)  # type: ignore[misc]
    return type("NewCls", (algorithm,), {"__init__": made})


for _name in __all__:
    globals()[_name] = _foreach(globals()[_name])
