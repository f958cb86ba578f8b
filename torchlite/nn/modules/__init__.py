"""`torch.nn.modules`: the classes of modules."""

from ...core.values import bear_name
from . import container, lazy, module, parameter_container, utils
from .activation import *
from .adaptive import *
from .batchnorm import *
from .channelshuffle import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .flatten import *
from .fold import *
from .instancenorm import *
from .linear import *
from .linear_cross_entropy_options import *
from .loss import *
from .module import Module
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
from .upsampling import *

# The rooms of the classes, as importing them has bound them here.
_ROOMS = [globals()[_name] for _name in (
    "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten",
    "fold", "instancenorm", "linear", "linear_cross_entropy_options", "loss", "normalization", "padding",
    "pixelshuffle", "pooling", "rnn", "sparse", "transformer", "upsampling",
)]  # fmt: skip

__all__ = ["Module", *[name for room in _ROOMS for name in room.__all__]]

# Error messages and pickles name a class by the module where PyTorch has it.
for _room in (*_ROOMS, lazy, module, parameter_container):
    for _class in vars(_room).values():
        if isinstance(_class, type) and _class.__module__ == _room.__name__:
            _shown = container if _room is parameter_container else _room
            bear_name(_class, _shown.__name__.replace("torchlite", "torch", 1))
