"""`torch.nn`: modules, the parameters they are made of, and functions on them."""

from ..core.values.pickling import live_here as _live_here
from ..faces import later as _later
from . import attention, common_types, functional, grad, init, modules, parallel, parameter, utils
from .modules import *
from .modules.factory import factory_kwargs
from .modules.module import Module
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__getattr__ = _later(__name__)
_live_here(globals())
