"""`functorch`: the transforms of `torch.func` under their first names, which PyTorch means to take away."""

from __future__ import annotations

from typing import Any

from .._functorch.deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from .._functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers
from ..torch_version import __version__ as __version__

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad",
    "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers",
    "make_fx", "vjp", "vmap",
]  # fmt: skip


def make_fx(*args: Any, **kwargs: Any) -> Any:
    """Tracing, which there is none of."""
    raise NotImplementedError("torchlite runs operations as they are called, and makes no graphs of functions")
