# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from typing import Any as _Any
from torchlite.faces.libraries import _Switches as _Switches
from builtins import bool as _bool
from builtins import str as _str

from torchlite.backends.base import Backend as Backend
from torchlite.backends import base as base
from torchlite.backends import cupy as cupy
from torchlite.backends import cupy_bits as cupy_bits
from torchlite.backends import cupy_kernels as cupy_kernels
from torchlite.backends import cupy_memory as cupy_memory
from torchlite.backends import cupy_random as cupy_random
from torchlite.backends import cupy_waits as cupy_waits
from torchlite.core.values.device import get_backend as get_backend
from torchlite.backends import lazy as lazy
from torchlite.backends import meta as meta
from torchlite.backends import numpy as numpy
from torchlite.backends import of_integers as of_integers
from torchlite.core.values.device import register_backend as register_backend
from torchlite.backends import sparse as sparse

cpu: _Any
cuda: _Any
cudnn: _Switches
cusparselt: _Any
def disable_global_flags() -> None: ...
def flags_frozen() -> _bool: ...
fp32_precision: _str
kleidiai: _Any
mha: _Any
mkl: _Any
mkldnn: _Switches
mps: _Any
nnpack: _Switches
openmp: _Any
opt_einsum: _Switches
python_native: _Any
quantized: _Any
xnnpack: _Any
