# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from typing import Any as _Any

from torchlite.utils import benchmark as benchmark
from torchlite.utils import checkpoint as checkpoint
from torchlite.utils import collect_env as collect_env
from torchlite.utils import cpp_extension as cpp_extension
from torchlite.utils import data as data
from torchlite.utils import deterministic as deterministic
from torchlite.utils import exceptions as exceptions
from torchlite.utils import flop_counter as flop_counter
from torchlite.utils import hooks as hooks
from torchlite.utils import lists_of_tensors as lists_of_tensors
from torchlite.utils import module_tracker as module_tracker
from torchlite.utils import selective_checkpoint as selective_checkpoint
from torchlite.utils import serialization as serialization
from torchlite.utils import surroundings as surroundings
from torchlite.utils.swapping import swap_tensors as swap_tensors
from torchlite.utils import swapping as swapping
from torchlite.utils import tensorboard as tensorboard
from torchlite.utils import weak as weak

dlpack: _Any
model_zoo: _Any
