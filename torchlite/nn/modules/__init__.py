"""`torch.nn.modules`: the classes of modules."""

from __future__ import annotations

from . import activation, container, flatten, lazy, linear, loss, module, parameter_container
from .activation import *
from .container import *
from .flatten import *
from .linear import *
from .loss import *
from .module import Module

__all__ = [
    "Module", *activation.__all__, *container.__all__, *flatten.__all__, *linear.__all__, *loss.__all__
]  # fmt: skip

# Error messages and pickles name a class by the module where PyTorch has it.
for _room in (activation, container, flatten, lazy, linear, loss, module, parameter_container):
    for _class in vars(_room).values():
        if isinstance(_class, type) and _class.__module__ == _room.__name__:
            _shown = container if _room is parameter_container else _room
            _class.__module__ = "torch" + _shown.__name__.removeprefix("torchlite")
