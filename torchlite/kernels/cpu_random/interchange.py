"""Many swaps, one after another, in one call: `laswp` of the LAPACK that NumPy brings."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import numpy as np
from numpy.linalg import _umath_linalg

# The routine's name and its integers, in the ways LAPACK is built.
_BUILDS = {
    "scipy_dlaswp_64_": ctypes.c_int64,
    "dlaswp_64_": ctypes.c_int64,
    "scipy_dlaswp_": ctypes.c_int32,
    "dlaswp_": ctypes.c_int32,
}


@functools.cache
def interchanger() -> Callable[[np.ndarray, np.ndarray], None] | None:
    """A function that swaps place i of an int64 array with place targets[i] >= i, for each i in turn.

    None where NumPy's LAPACK cannot be called by name.
    """
    try:
        library = ctypes.CDLL(_umath_linalg.__file__)  # a name is looked for in what the library depends on, too
    except OSError:  # as in a browser
        return None
    for name, integer in _BUILDS.items():
        if hasattr(library, name):
            return functools.partial(_interchange, library[name], integer)
    return None


def _interchange(laswp: Callable[..., None], integer: type, places: np.ndarray, targets: np.ndarray) -> None:
    # The places are a matrix of one column. Its rows are moved, not computed with, so any 64 bits may be in them.
    pivots: np.ndarray = (targets + 1).astype(integer, copy=False)
    one, rows, steps = (ctypes.byref(integer(k)) for k in (1, places.size, targets.size))
    laswp(one, ctypes.c_void_p(places.ctypes.data), rows, one, steps, ctypes.c_void_p(pivots.ctypes.data), one)
