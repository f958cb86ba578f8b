"""`torch.nn`: modules, the parameters they are made of, and functions on them."""

from __future__ import annotations

from typing import Any

from . import attention, common_types, functional, grad, init, modules, parallel, parameter, utils
from .modules import *
from .modules.factory import factory_kwargs
from .modules.module import Module
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter


def __getattr__(name: str) -> Any:
    from ..absent import why

    raise AttributeError(f"torchlite has no torch.nn.{name}{why(name)}")
