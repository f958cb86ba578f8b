"""The device `meta`: tensors that have a form and no elements, for asking what a computation would give.

The ops' own kernels run, over an array namespace that computes forms (`namespace.py`). Kernels that look at values only
to check them, or to choose among ways to one result, are replaced here; what depends on values is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.declare import Elementwise
from ...core.values import arrays
from ..base import Backend, register_backend
from .array import MetaArray, NoValues, fresh, packed
from .kinds import forms_in, replaced
from .matrices import KERNELS as MATRICES
from .namespace import broadcast_to, xp

if TYPE_CHECKING:
    from ...core.declare import Op


# ---- kernels


def _repeats(repeats: MetaArray, output_size: int | None) -> MetaArray:
    if output_size is None:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    return fresh((output_size,), repeats.dtype)


def _segments(lengths: Any, offsets: Any, size: int, unsafe: bool) -> tuple[MetaArray, MetaArray]:
    *lead, count = lengths.shape if offsets is None else (*offsets.shape[:-1], offsets.shape[-1] - 1)
    rows, dtype = math.prod(lead), np.int64 if offsets is None else offsets.dtype
    return fresh((rows * size,), np.int64), fresh((rows * count, 1), dtype)


def _bags(
    weight: MetaArray, indices: MetaArray, offsets: MetaArray, by_freq: bool, mode: int, sparse: bool, per_sample: Any,
    include_last_offset: bool, _: int,
) -> tuple[MetaArray, ...]:  # fmt: skip
    bags, width = offsets.size - include_last_offset, weight.shape[1]
    chosen = fresh((bags, width) if mode == 2 else (bags,), np.int64)
    return fresh((bags, width), weight.dtype), fresh(indices.shape, np.int64), fresh((bags,), np.int64), chosen


_WRITING = (
    "scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce", "scatter_add", "scatter_reduce.two",
    "index_add", "index_copy", "index_fill.int_Scalar", "index_fill.int_Tensor", "index_reduce", "index_put", "put",
)  # fmt: skip

_KERNELS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(_WRITING, lambda self, *_: self.copy()),
    "_embedding_bag": _bags,
    "_segments": _segments,
    "embedding": lambda weight, indices, *_: fresh((*indices.shape, *weight.shape[1:]), weight.dtype),
    "embedding_dense_backward": lambda g, indices, num_weights, *_: fresh((num_weights, g.shape[-1]), g.dtype),
    "gather": lambda self, dim, index, sparse_grad: fresh(index.shape, self.dtype),
    "histc": lambda self, bins, *_: fresh((bins,), self.dtype),
    "index.Tensor": lambda self, indices: self[tuple([slice(None) if i is None else i for i in indices])].copy(),
    "index_select": lambda self, dim, index: xp.take(self, index.reshape(-1), dim) if self.ndim else self.copy(),
    "masked_scatter": lambda self, mask, source: fresh(np.broadcast_shapes(self.shape, mask.shape), self.dtype),
    "multilabel_margin_loss_forward": lambda self, target, reduction: (
        fresh(() if reduction else self.shape[:-1], self.dtype), fresh(target.shape, self.dtype)
    ),
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), lambda self, target, weight, reduction, _: (
        fresh(() if reduction else target.shape, self.dtype), fresh((), self.dtype)
    )),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), lambda g, self, *_: fresh(self.shape, self.dtype)),
    "nonzero_static": lambda self, size, fill_value: fresh((size, self.ndim), np.int64),
    "repeat_interleave.Tensor": _repeats,
    "searchsorted": lambda sequence, sought, out_int32, *_: fresh(sought.shape, np.int32 if out_int32 else np.int64),
    "take": lambda self, index: fresh(index.shape, self.dtype),
    **MATRICES,
}  # fmt: skip

# Products look at integers, to see whether floats can stand for them.
_PRODUCTS = frozenset((
    "mm", "bmm", "mv", "dot", "vdot", "addmm", "addmv", "baddbmm", "addbmm", "matmul", "_linear", "_linear.bias",
    "convolution",
))  # fmt: skip


class MetaBackend(Backend):
    xp = xp
    Array = MetaArray
    values = False
    kernels = _KERNELS

    def kernel(self, op: Op) -> Callable[..., Any]:
        kernel = super().kernel(op)

        def run(*arguments: Any) -> Any:
            try:
                return kernel(*arguments)
            except NoValues:
                if isinstance(op, Elementwise):
                    return _broadcast(op, arguments)
                if op.name in _PRODUCTS:
                    return kernel(*replaced(arguments, lambda a: a.astype(np.float64))).astype(arguments[0].dtype)
                raise NotImplementedError(
                    f"aten::{op.name}: attempted to run this operator with Meta tensors, but there was no fake impl or "
                    "Meta kernel registered. Its result depends on values, and a meta tensor has none."
                ) from None

        return run

    # ---- making and moving

    def asarray(self, value: Any, dtype: np.dtype | None = None) -> MetaArray:
        return xp.asarray(value, dtype)

    def from_host(self, array: np.ndarray) -> MetaArray:
        return fresh(array.shape, array.dtype, packed(array.shape, array.strides))

    def to_host(self, array: MetaArray) -> np.ndarray:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    def bring(self, array: arrays.Array, source: Backend) -> MetaArray:
        return fresh(array.shape, array.dtype, packed(tuple(array.shape), source.strides(array)))

    def write(self, array: MetaArray, value: Any) -> None:
        broadcast_to(self.asarray(value), array.shape)

    # ---- layout

    def pointer(self, array: MetaArray) -> int:
        return 0

    def storage(self, array: MetaArray) -> MetaArray:
        owner = array if array.base is None else array.base
        return MetaArray((array.memory.nbytes,), np.dtype(np.uint8), (1,), 0, array.memory, owner)

    def offset(self, array: MetaArray) -> int:
        return array.offset // array.itemsize

    def as_strided(self, array: MetaArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> MetaArray:
        item = array.itemsize
        reach = 0 if 0 in shape else offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides))
        if reach * item > array.memory.nbytes:
            raise ValueError("strides and offset lead out of the memory")
        return array.shown(shape, tuple([s * item for s in strides]), offset * item - array.offset)


def _broadcast(op: Op, arguments: Sequence[Any]) -> Any:
    """The form of an elementwise op's results, but for the dtype, which the op knows."""
    operands = list(forms_in(arguments))
    shape = np.broadcast_shapes(*[a.shape for a in operands])
    made = fresh(shape, operands[0].dtype)
    return tuple([made.copy() for _ in op.signature.returns]) or made


register_backend("meta", MetaBackend)
