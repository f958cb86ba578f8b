"""Gradients that travel together: which ones, and the flat tensors in which they lie."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, IntEnum
from typing import Any

from ..core.machine import Tensor
from ..core.values import is_dense, shown_in

_DEFAULT_FIRST_BUCKET_BYTES = 1 << 20  # small, so that something travels early


class Bucket:
    """The gradients of some parameters, in one flat tensor; or a single sparse gradient, which has no memory here."""

    def __init__(self, numbers: Sequence[int], params: Sequence[Tensor], sparse: bool) -> None:
        self.numbers, self.params, self.sparse = list(numbers), list(params), sparse
        self.pending = len(self.params)
        self.buffer: Tensor | None = None
        self.views: list[Tensor] = []
        self.result: Any = None  # what is waited for, once it is on its way
        if not sparse:
            self.buffer = params[0].new_zeros(sum(param.numel() for param in params))
            self.views = views_of(self.buffer, params)


def views_of(flat: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    """The parts of a flat tensor, laid out as the parameters are."""
    views, at = [], 0
    for param in params:
        part = flat[at : at + param.numel()]
        dense = is_dense(tuple(param.shape), param.stride())
        view = part.as_strided(param.shape, param.stride()) if dense else part.view(param.shape)
        views.append(view.data)
        at += param.numel()
    return views


@shown_in("torch.distributed")
class GradBucket:
    """What a communication hook is given: the gradients of a bucket, not yet divided by the number of processes."""

    def __init__(self, index: int, buffer: Tensor, params: Sequence[Tensor], last: bool) -> None:
        self._index, self._buffer, self._params, self._last = index, buffer, params, last

    def index(self) -> int:
        """The number of the bucket; those with small numbers are ready first."""
        return self._index

    def buffer(self) -> Tensor:
        """The flat tensor in which the gradients lie."""
        return self._buffer

    def gradients(self) -> list[Tensor]:
        """The gradients, as views of the buffer."""
        return views_of(self._buffer, self._params)

    def parameters(self) -> list[Tensor]:
        """The parameters whose gradients these are."""
        return list(self._params)

    def is_last(self) -> bool:
        """Whether this is the last bucket of the pass."""
        return self._last

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another tensor in the buffer's place."""
        self._buffer = buffer


@shown_in("torch.distributed")
class BuiltinCommHookType(IntEnum):
    """The hooks that PyTorch has in C++."""

    ALLREDUCE, FP16_COMPRESS = 1, 2

    __str__ = Enum.__str__

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"


def _compute_bucket_assignment_by_size(
    tensors: Sequence[Tensor], bucket_size_limits: Sequence[int], expect_sparse_gradient: Sequence[bool] = (),
    tensor_indices: Sequence[int] = (), logger: Any = None,
) -> tuple[list[list[int]], list[int]]:  # fmt: skip
    """The numbers of the tensors, by buckets that are full at so many bytes (the last limit holds for all that follow).

    A bucket has tensors of one dtype and device. Without numbers of their own, tensors are numbered as they come, and
    the buckets are in the order of their first ones.
    """
    full: list[tuple[list[int], int]] = []
    filling: dict[Any, tuple[list[int], int]] = {}
    closed: dict[Any, int] = {}  # how many buckets of a kind are full
    for at, tensor in enumerate(tensors):
        number = tensor_indices[at] if tensor_indices else at
        if expect_sparse_gradient and expect_sparse_gradient[number]:
            full.append(([number], 0))
            continue
        kind = tensor.dtype, tensor.device
        numbers, size = filling.get(kind, ([], 0))
        numbers.append(number)
        size += tensor.numel() * tensor.element_size()
        limit = bucket_size_limits[min(closed.get(kind, 0), len(bucket_size_limits) - 1)]
        filling[kind] = numbers, size
        if size >= limit:
            full.append((numbers, limit))
            closed[kind] = closed.get(kind, 0) + 1
            del filling[kind]
    for kind, (numbers, _) in filling.items():
        full.append((numbers, bucket_size_limits[min(closed.get(kind, 0), len(bucket_size_limits) - 1)]))
    if not tensor_indices:
        full.sort(key=lambda bucket: min(bucket[0]))
    return [numbers for numbers, _ in full], [limit for _, limit in full]
