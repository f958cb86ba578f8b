"""The CPU's random numbers: PyTorch's Mersenne Twister streams, bit for bit, in NumPy.

`MT19937Stream` is one generator: its words and state (`engine.py`) and every draw from it (`stream.py`). The rest are
functions of arrays: uniform numbers and roundings (`arithmetic.py`), normals (`normals.py`), shuffles
(`permutation.py`), laws drawn by trial and error (`rejection.py`), and what arguments they accept (`checks.py`).

Draws meet infinities and NaNs on their way, so callers have NumPy's floating-point warnings off.
"""

from .engine import DEFAULT_SEED
from .stream import MT19937Stream

__all__ = ["DEFAULT_SEED", "MT19937Stream"]
