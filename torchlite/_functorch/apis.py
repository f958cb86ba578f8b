"""`torch._functorch.apis`: `vmap` and `grad`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..func.arguments import Argnums as argnums_t
from ..func.mapping import Dims as in_dims_t
from ..func.mapping import vmap
from ..func.reverse import grad, grad_and_value
from .vmap import _process_batched_inputs, out_dims_t

__all__ = ["argnums_t", "chunk_vmap", "grad", "grad_and_value", "in_dims_t", "out_dims_t", "vmap"]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """`vmap` that computes its elements in so many parts, one after the other."""

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        size, *_ = _process_batched_inputs(in_dims, args, func)
        if not chunks > 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(1, -(-size // chunks)))(*args, **kwargs)

    return mapped
