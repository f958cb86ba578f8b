"""Parameters and buffers of a module by name, put in and taken out past the checks of attributes."""

from __future__ import annotations

from typing import Any

from ...core.machine import Tensor
from ..modules.module import Module

_MISSING: Any = object()


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of a module's parameter, buffer or attribute; gives what was there."""
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for home in (module._parameters, module._buffers):
        if name in home:
            before = home[name]
            if tensor is _MISSING:
                del home[name]
            else:
                home[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and not isinstance(before, Tensor) and before is not None:
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif hasattr(module, name):
        delattr(module, name)
    return before


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    swap_tensor(module, name, tensor, allow_missing=True)
