"""The CPU's random numbers: PyTorch's Mersenne Twister streams, bit for bit, in NumPy.

`MT19937Stream` is one generator: its state (`engine.py`) and every draw from it (`stream.py`). `arithmetic.py` holds the
roundings of PyTorch's kernels, `rejection.py` the laws drawn by trial and error, `checks.py` what arguments they accept.
"""

from __future__ import annotations

from .engine import DEFAULT_SEED
from .stream import MT19937Stream

__all__ = ["DEFAULT_SEED", "MT19937Stream"]
