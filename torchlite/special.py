"""torch.special: special functions under the names that mathematics has for them."""

from __future__ import annotations

from .core.registry import functions as _functions
from .ops.special import special as _special

globals().update(_special)
for _name in ("exp2", "expm1", "log1p", "log_softmax", "logit", "logsumexp", "sinc", "softmax"):
    globals()[_name] = _functions[_name]
expit = _functions["sigmoid"]
