"""The device `meta`: tensors that have a form and no elements, for asking what a computation would give.

The ops' own kernels run, over an array namespace that computes forms (`functions.py`). Kernels that look at values only
to check them, or to choose among ways to one result, are replaced here; what depends on values is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

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


def _like_first(self: MetaArray, *_: Any) -> MetaArray:
    return self.copy()


def _gather(self: MetaArray, dim: int, index: MetaArray, sparse_grad: bool) -> MetaArray:
    return fresh(index.shape, self.dtype)


def _take(self: MetaArray, index: MetaArray) -> MetaArray:
    return fresh(index.shape, self.dtype)


def _index(self: MetaArray, indices: Sequence[Any]) -> MetaArray:
    return self[tuple([slice(None) if i is None else i for i in indices])].copy()


def _embedding(weight: MetaArray, indices: MetaArray, *_: Any) -> MetaArray:
    return fresh((*indices.shape, *weight.shape[1:]), weight.dtype)


def _embedding_backward(g: MetaArray, indices: MetaArray, num_weights: int, *_: Any) -> MetaArray:
    return fresh((num_weights, g.shape[-1]), g.dtype)


def _nll(self: MetaArray, target: MetaArray, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, ...]:
    return fresh(() if reduction else target.shape, self.dtype), fresh((), self.dtype)


def _nll_backward(g: MetaArray, self: MetaArray, *_: Any) -> MetaArray:
    return fresh(self.shape, self.dtype)


def _index_select(self: MetaArray, dim: int, index: MetaArray) -> MetaArray:
    return xp.take(self, index.reshape(-1), dim) if self.ndim else self.copy()


def _masked_scatter(self: MetaArray, mask: MetaArray, source: MetaArray) -> MetaArray:
    return fresh(np.broadcast_shapes(self.shape, mask.shape), self.dtype)


def _nonzero_static(self: MetaArray, size: int, fill_value: int) -> MetaArray:
    return fresh((size, self.ndim), np.int64)


def _repeats(repeats: MetaArray, output_size: int | None) -> MetaArray:
    if output_size is None:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    return fresh((output_size,), repeats.dtype)


def _searchsorted(sequence: MetaArray, sought: MetaArray, out_int32: bool, *_: Any) -> MetaArray:
    return fresh(sought.shape, np.int32 if out_int32 else np.int64)


def _histc(self: MetaArray, bins: int, *_: Any) -> MetaArray:
    return fresh((bins,), self.dtype)


def _segments(lengths: Any, offsets: Any, size: int, unsafe: bool) -> tuple[MetaArray, MetaArray]:
    *lead, count = lengths.shape if offsets is None else (*offsets.shape[:-1], offsets.shape[-1] - 1)
    rows, dtype = math.prod(lead), np.int64 if offsets is None else offsets.dtype
    return fresh((rows * size,), np.int64), fresh((rows * count, 1), dtype)


def _multilabel(self: MetaArray, target: MetaArray, reduction: int) -> tuple[MetaArray, MetaArray]:
    return fresh(() if reduction else self.shape[:-1], self.dtype), fresh(target.shape, self.dtype)


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

# Products look at integers, to see whether floats can stand for them.
_PRODUCTS = frozenset((
    "mm", "bmm", "mv", "dot", "vdot", "addmm", "addmv", "baddbmm", "addbmm", "matmul", "_linear", "_linear.bias",
    "convolution",
))  # fmt: skip


class MetaBackend(Backend):
    xp = xp
    Array = MetaArray
    values = False
    kernels: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(_WRITING, _like_first), "gather": _gather, "take": _take, "index.Tensor": _index,
        "embedding": _embedding, "embedding_dense_backward": _embedding_backward,
        **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), _nll),
        **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), _nll_backward),
        "index_select": _index_select, "masked_scatter": _masked_scatter, "nonzero_static": _nonzero_static,
        "repeat_interleave.Tensor": _repeats, "searchsorted": _searchsorted, "histc": _histc,
        "_embedding_bag": _bags, "_segments": _segments, "multilabel_margin_loss_forward": _multilabel, **MATRICES,
    }  # fmt: skip

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
