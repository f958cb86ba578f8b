"""`torch.utils`."""

from __future__ import annotations

from ..absent import loading as _loading
from .swapping import swap_tensors

# Loaded when first used.
_LATER = frozenset((
    "_contextlib", "_device", "_foreach_utils", "_import_utils", "_pytree", "benchmark", "checkpoint", "collect_env",
    "cpp_extension", "data", "deterministic", "dlpack", "flop_counter", "hooks", "model_zoo", "serialization",
    "tensorboard", "weak",
))  # fmt: skip
__getattr__, __dir__ = _loading(__name__, _LATER)
