"""Sums of sparse tensors over processes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor, functions
from .engines.base import Engine

_FORM = 64  # numbers that say what a process has: elements, sparse dimensions, sizes


def all_reduce_sparse(engine: Engine, tensor: Tensor) -> None:
    """Make of a sparse tensor the sum of those of all processes, each with as many elements as it happens to have."""
    with no_grad():
        own = tensor.data.coalesce()
        form = np.full(_FORM, -1)
        form[: 2 + own.dim()] = own._nnz(), own.sparse_dim(), *own.shape
        forms = [np.empty_like(form) for _ in range(engine.size)]
        engine.all_gather(forms, form)
        if any((form[1:] != other[1:]).any() for other in forms):
            raise RuntimeError("Sparse dimensions do not match")
        counts = [int(other[0]) for other in forms]
        places = _gathered(engine, own.indices().t().cpu(), counts)
        numbers = _gathered(engine, own.values().cpu(), counts)
        summed = functions["sparse_coo_tensor"](places.t(), numbers, own.shape, check_invariants=False).coalesce()
        tensor.data.copy_(summed)


def _gathered(engine: Engine, rows: Tensor, counts: Sequence[int]) -> Tensor:
    """The rows of all processes, one after the other; they travel filled up to the same number."""
    padded = rows.new_zeros((max(counts), *rows.shape[1:]))
    padded[: rows.shape[0]] = rows
    rooms = [functions["empty_like"](padded) for _ in counts]
    engine.all_gather([room._array.reshape(-1) for room in rooms], padded._array.reshape(-1))
    return functions["cat"]([room[:count] for room, count in zip(rooms, counts)])
