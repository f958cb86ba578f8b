"""The old name of `torch.func.functional_call`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.machine import Tensor
from ...core.values import warn
from .functional_call import functional_call as _functional_call
from .functional_call import reparametrized

if TYPE_CHECKING:
    from ..modules.module import Module

__all__ = ["functional_call"]


def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Any:
    """Inside a `with`, a module holds other tensors in place of its parameters and buffers."""
    return reparametrized(module, parameters_and_buffers, tie_weights, strict)


def functional_call(
    module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None, kwargs: dict[str, Any] | None = None,
    *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """What a module gives with other tensors in place of its parameters and buffers."""
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
