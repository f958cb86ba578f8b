"""`torch.distributed.nn`: collectives through which gradients flow."""

from ...absent import placeholder
from .functional import *

RemoteModule = placeholder("torch.distributed.nn", "RemoteModule")
