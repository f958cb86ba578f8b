"""`torch.utils`."""

from __future__ import annotations

from ..absent import lacking as _lacking
from ..absent import listing as _listing
from .swapping import swap_tensors

# Loaded when first used.
_LATER = frozenset((
    "_contextlib", "_device", "_foreach_utils", "_import_utils", "_pytree", "benchmark", "checkpoint", "collect_env",
    "cpp_extension", "data", "deterministic", "dlpack", "flop_counter", "hooks", "model_zoo", "serialization",
    "tensorboard", "weak",
))  # fmt: skip
__getattr__ = _lacking(__name__, _LATER)
__dir__ = _listing(__name__, _LATER)
