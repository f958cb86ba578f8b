"""`torch._functorch.deprecated`: the transforms under their first names, which say when called that they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import func
from ..core.values import leaving
from . import make_functional as modules

__all__ = [
    "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip


def _leaving(function: Callable[..., Any], newer: str) -> Callable[..., Any]:
    """A function that says, when it is called, that it goes and what is to be used instead."""
    return leaving(
        function,
        "We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{function.__name__}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of "
        f"PyTorch >= 2.3. Please use `{newer}` instead; see the PyTorch 2.0 release notes and/or the "
        "`torch.func` migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
    )


functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = [
    _leaving(transform, f"torch.func.{transform.__name__}")
    for transform in (
        func.functionalize, func.grad, func.grad_and_value, func.hessian, func.jacfwd, func.jacrev, func.jvp, func.vjp
    )
]  # fmt: skip
vmap = _leaving(func.vmap, "torch.vmap")
make_functional = _leaving(modules.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _leaving(modules.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _leaving(modules.combine_state_for_ensemble, "torch.func.stack_module_state")
