"""torch.special: special functions under the names that mathematics has for them."""

from __future__ import annotations

from .absent import lacking
from .core.machine.registry import functions as _functions
from .operations.pointwise.special_functions import special as _special

globals().update(_special)
for _name in ("exp2", "expm1", "log1p", "log_softmax", "logit", "logsumexp", "sinc", "softmax"):
    globals()[_name] = _functions[_name]
expit = _functions["sigmoid"]

__getattr__ = lacking(__name__)
