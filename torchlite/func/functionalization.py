"""`functionalize` and `debug_unwrap`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.machine import Tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` itself, as far as its results and its effects on its arguments go.

    PyTorch's replaces operations that write in place, or give views, by others, which shows in a trace of the program
    but not in what it computes. There are no traces here, so nothing needs to be replaced.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced "
            "with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be "
            "replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functionalized


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What a tensor inside a transform is made of, down to a plain tensor, or one level if not `recurse`."""
    while tensor._backend.level and hasattr(tensor._array, "main"):
        tensor = tensor._array.main
        if not recurse:
            break
    return tensor
