"""`torch.optim`: optimizers and what steers them."""

from ..absent import lacking
from ..core.values.pickling import bear_name, live_here
from . import lr_scheduler, swa_utils
from ._adafactor import Adafactor
from ._muon import Muon
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam
from .swapped_parameters import swap_in_optimizer_params_and_state

__all__ = [
    "Adafactor", "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "LBFGS", "lr_scheduler", "Muon", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "swap_in_optimizer_params_and_state", "swa_utils",
]  # fmt: skip

live_here(globals())

# Where PyTorch has them, which is how their names are shown and pickled.
for _name in __all__:
    _class = globals()[_name]
    if isinstance(_class, type):
        _room = _class.__module__.partition(".")[2]
        bear_name(_class, "torch.optim" if "._" in _room else f"torch.{_room}")

__getattr__ = lacking(__name__)
