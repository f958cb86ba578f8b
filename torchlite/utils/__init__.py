"""`torch.utils`."""

from __future__ import annotations

import importlib
from typing import Any

from ..absent import explanation as _explanation
from .swapping import swap_tensors

# Loaded when first used.
_LATER = frozenset((
    "_contextlib", "_device", "_foreach_utils", "_import_utils", "_pytree", "benchmark", "checkpoint", "collect_env",
    "cpp_extension", "data", "deterministic", "dlpack", "flop_counter", "hooks", "model_zoo", "serialization",
    "tensorboard", "weak",
))  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(_explanation(f"torch.utils.{name}"), name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER} - {"annotations"})
