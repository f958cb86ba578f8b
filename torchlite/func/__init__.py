"""`torch.func`: transforms of functions."""

import importlib
from typing import Any

from ..absent import explanation
from ..core.values.pickling import live_here
from .dual import jvp
from .functionalization import debug_unwrap, functionalize
from .jacobians import hessian, jacfwd, jacrev, linearize
from .mapping import vmap
from .rearrange import rearrange
from .reverse import grad, grad_and_value, vjp

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip

_HOME = dict.fromkeys(
    ("functional_call", "replace_all_batch_norm_modules_", "stack_module_state"), "..nn.utils.functional_call"
)
live_here(globals())


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(explanation(f"torch.func.{name}"), name=name)
    found = globals()[name] = getattr(importlib.import_module(_HOME[name], __name__), name)
    found.__module__ = found.__module__.partition(".")[0] + ".func"  # of torchlite, or of torch
    return found
