"""PyTorch's Python surface over NumPy, CuPy, and whatever backend is registered."""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from . import autograd, ops, overrides, random, return_types
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .backends import register_backend
from .constants import *
from .core import dtype as _dtype
from .core import layout as _layout
from .core.device import device, get_default_device, set_default_device
from .core.dtype import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from .core.format import set_printoptions
from .core.generator import Generator
from .core.layout import layout, memory_format
from .core.op import functions as _functions
from .core.size import Size
from .core.storage import STORAGES as _STORAGES
from .core.storage import TypedStorage, UntypedStorage
from .core.tensor import Tensor
from .queries import *
from .random import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__version__ = "2.13.0+torchlite"

globals().update(_layout.NAMES)
globals().update(_functions)
globals().update(_STORAGES, Storage=_STORAGES["FloatStorage"])
globals().update(_dtype.NAMES, bool=_dtype.bool_)

# Loaded when first used.
_LATER = frozenset((
    "__future__", "_tensor", "_utils", "amp", "cuda", "distributions", "func", "linalg", "nn", "optim", "profiler",
    "serialization", "special", "storage", "testing", "utils",
))  # fmt: skip
_FUNCTIONS_LATER = {
    **dict.fromkeys(
        ("autocast", "clear_autocast_cache", "get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_enabled",
         "set_autocast_dtype", "set_autocast_enabled"), "amp.autocast_mode",
    ),
    "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    "is_anomaly_enabled": "autograd.anomaly_mode",
    "vmap": "func",
    "load": "serialization", "save": "serialization",
}


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        return _importlib.import_module(f".{name}", __name__)
    if name in _FUNCTIONS_LATER:
        return getattr(_importlib.import_module(f".{_FUNCTIONS_LATER[name]}", __name__), name)
    if name.startswith("_foreach_"):
        _importlib.import_module(".ops.foreach", __name__)
        if name in _functions:
            return _functions[name]
    raise AttributeError(f"torchlite has no torch.{name} yet (docs/coverage.md lists what there is)")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_FUNCTIONS_LATER} - {"annotations"})
