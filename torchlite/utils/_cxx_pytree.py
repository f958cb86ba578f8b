"""`torch.utils._cxx_pytree`: the names of `torch.utils._pytree`, which there is one implementation of."""

from __future__ import annotations

from ._pytree import *  # noqa: F403
from ._pytree import __all__ as __all__
