"""Embeddings: rows of a matrix by their numbers, one by one or in bags; and one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.declare import Op, describe, publish, publish_python, published, published_whole
from ...core.machine import Tensor, bump, refuse_batch
from ...core.machine.registry import registry
from ...core.values import Array, Namespace, dt, type_text
from ...kernels.summing import widened
from ..formulas import tensors
from .writing import check_range, combine

_INDEX_TYPES = (dt.int64, dt.int32)


def _check_indices(indices: Tensor, function: str) -> None:
    if indices.dtype not in _INDEX_TYPES:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{type_text(indices.dtype, indices.device)} instead (while checking arguments for {function})"
        )


# ---- one by one


def _check_embedding(weight: Tensor, indices: Tensor, padding_idx: int, by_freq: bool, sparse: bool) -> None:
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices, "embedding")


def _embedding(xp: Namespace, weight: Any, indices: Array, *_: Any) -> Any:
    check_range(xp, indices, len(weight), lambda i: IndexError("index out of range in self"))
    return weight.take(indices, 0)


def _embedding_backward(
    xp: Namespace, g: Array, indices: Array, num_weights: int, padding_idx: int, by_freq: bool
) -> Any:
    made = xp.zeros((num_weights, g.shape[-1]), g.dtype)
    rows = indices.reshape(-1)
    values = g.reshape((rows.shape[0], g.shape[-1]))
    if padding_idx >= 0:
        kept = rows != padding_idx
        rows, values = rows[kept], values[kept]
    if by_freq and rows.size:
        values = (values / xp.bincount(rows, minlength=num_weights)[rows].reshape((-1, 1))).astype(g.dtype)
    combine(xp, "add", made, rows, values)
    return made


def _embedding_backward_in_steps(
    g: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    rows, values = indices.reshape((-1,)).long(), g.reshape((-1, g.shape[-1]))
    counts = (rows != padding_idx).to(g.dtype)
    if scale_grad_by_freq:
        counts = counts / tensors.zeros_like(counts).new_zeros((num_weights,)).index_add(0, rows, counts).take(rows)
    return g.new_zeros((num_weights, g.shape[-1])).index_add(0, rows, values * counts.unsqueeze(-1))


def _masked_embedding(g: Tensor, indices: Tensor, padding_idx: int) -> Tensor:
    """The gradient of `embedding_dense_backward`: what is at the rows, and nothing for padding.

    Like PyTorch's it takes no notice of frequencies.
    """
    made = embedding_op.apply(g, indices, padding_idx, False, False)
    return made if padding_idx < 0 else made.masked_fill((indices == padding_idx).unsqueeze(-1), 0)


embedding_dense_backward = Op(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, "
    "bool scale_grad_by_freq)",
    _embedding_backward,
    {
        "grad_output": lambda g, indices, padding_idx: _masked_embedding(g, indices, padding_idx),
        "indices": None,
    },
    linear=True, batch=_embedding_backward_in_steps,
)  # fmt: skip


def _sparse_gradient(g: Tensor, indices: Tensor, rows: int, padding_idx: int, by_freq: bool) -> Tensor:
    """The gradient of the rows that were used, in a sparse tensor that may name one several times."""
    if by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    indices, values = indices.reshape((-1,)).long(), g.reshape((-1, g.shape[-1]))
    if padding_idx >= 0:
        kept = (indices != padding_idx).nonzero().reshape((-1,))
        indices, values = indices.index_select(0, kept), values.index_select(0, kept)
    of_parts = registry["_sparse_coo_tensor_with_dims_and_tensors"].apply
    made: Tensor = of_parts(1, 1, (rows, values.shape[1]), indices.unsqueeze(0), values, None)
    return made


def _of_weight(
    g: Tensor, indices: Tensor, weight_shape: tuple[int, ...], padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    backward = _sparse_gradient if sparse else embedding_dense_backward.apply
    made: Tensor = backward(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
    return made


def _rows_of(weight: Tensor, indices: Tensor, *_: Any) -> Tensor:
    flat = weight.index_select(0, indices.reshape((-1,)).long())
    return flat.reshape((*indices.shape, weight.shape[1]))


embedding_op = Op(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)",
    _embedding,
    {"weight": _of_weight, "indices": None},
    check_form=_check_embedding, linear=True, batch=_rows_of, complex_gradients=False,
    shows="padding_idx scale_grad_by_freq sparse weight_sym_argsize_0",
)  # fmt: skip
embedding = publish(embedding_op, method=False)


@published("embedding_renorm_(Tensor self, Tensor indices, float max_norm, float norm_type)", method=False)
def embedding_renorm(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale down, in place, those rows that are used and whose norm is more than `max_norm`."""
    rows = indices.reshape((-1,)).unique().to(dt.int64)
    if weight.dtype.category < dt.FLOAT:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {weight.dtype.legacy} instead."
        )
    used = weight.detach().index_select(0, rows)
    norms = used.norm(norm_type, 1, True)
    scale = tensors.where(norms > max_norm, max_norm / (norms + 1e-7), 1)
    weight.detach().index_copy_(0, rows, used * scale.to(used.dtype))
    return weight


# ---- in bags

_SUM, _MEAN, _MAX = range(3)


def _bags(xp: Namespace, indices: Array, offsets: Any, bags: int) -> Array:
    """The number of the bag that each index is in."""
    starts = xp.bincount(offsets[1:bags], minlength=indices.size + 1)[: indices.size]
    return xp.cumsum(starts)


def _check_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, by_freq: bool, mode: int, sparse: bool, per_sample: Any,
    include_last_offset: bool, padding_idx: int,
) -> None:  # fmt: skip
    for index in (indices, offsets):
        _check_indices(index, "embedding_bag")
    if weight.dtype not in dt.FLOATS:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
            f"Float, Double; but got {type_text(weight.dtype, weight.device)} instead (while checking arguments for "
            "embedding_bag)"
        )
    if per_sample is not None and per_sample.dtype is not weight.dtype:
        one, other = [type_text(t.dtype, t.device) for t in (weight, per_sample)]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {one} does not equal {other} (while checking arguments for embedding_bag)"
        )
    if include_last_offset and not offsets.numel():
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    backend = indices._backend.real
    if not backend.values or backend.asserts or backend.level or not offsets.numel():
        return
    first, last = int(offsets._array[0].item()), int(offsets._array[-1].item())
    if first != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {first}"
        )
    if last > indices.numel():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {indices.numel()} but got offsets[-1] of {last}"
        )


def _largest(xp: Namespace, values: Array, indices: Array, bag: Any, bags: int) -> tuple[Any, Any]:
    """The largest values of each bag, 0 for an empty one, and their indices. NaN counts only where it comes first."""
    low, shape = -float("inf"), (bags, values.shape[1])
    made, first = xp.full(shape, low, values.dtype), xp.full(shape, indices.size, dt.int64.numpy)
    if not indices.size:
        return xp.zeros(shape, values.dtype), xp.zeros(shape, dt.int64.numpy)
    later = (xp.diff(bag, prepend=-1) == 0).reshape((-1, 1))
    unknown = xp.isnan(values)
    values = xp.where(unknown & later, low, values)
    combine(xp, "maximum", made, bag, values)
    best = (values == made[bag]) | (unknown & ~later)
    combine(xp, "minimum", first, bag, xp.where(best, xp.arange(indices.size).reshape((-1, 1)), indices.size))
    found = first < indices.size
    return xp.where(found, made, 0), xp.where(found, indices[xp.where(found, first, 0)], 0)


def _embedding_bag(
    xp: Namespace, weight: Array, indices: Array, offsets: Any, by_freq: bool, mode: int, sparse: bool, per_sample: Any,
    include_last_offset: bool, padding_idx: int,
) -> tuple[Any, ...]:  # fmt: skip
    bags = offsets.size - include_last_offset
    rows = len(weight)

    def outside(i: int) -> Exception:
        at = int((indices == i).argmax().item())
        return RuntimeError(f"Index {at} of input takes value {i} which is not in the valid range [0, {rows})")

    check_range(xp, indices, rows, outside)
    bag = _bags(xp, indices, offsets, bags)
    kept = indices != padding_idx
    counts = xp.bincount(bag[kept], minlength=bags).astype(dt.int64.numpy, copy=False)
    values = widened(weight[indices])
    if per_sample is not None:
        values = values * widened(per_sample).reshape((-1, 1))
    if mode == _MAX:
        made, chosen = _largest(xp, values[kept], indices[kept], bag[kept], bags)
    else:
        made, chosen = xp.zeros((bags, weight.shape[1]), values.dtype), xp.zeros((bags,), dt.int64.numpy)
        combine(xp, "add", made, bag[kept], values[kept])
        if mode == _MEAN:
            made = made / xp.maximum(counts, 1).astype(made.dtype).reshape((-1, 1))
            chosen = counts
    sizes = xp.zeros((bags,), dt.int64.numpy) if mode == _SUM else counts
    bag = bag.astype(dt.int64.numpy)[: 0 if _in_place(xp, weight, mode, padding_idx) else None]
    return made.astype(weight.dtype, copy=False), bag, sizes, chosen


def _in_place(xp: Namespace, weight: Array, mode: int, padding_idx: int) -> bool:
    """Whether PyTorch sums rows where they are, and leaves it to the derivative to find their bags."""
    rows = weight.strides[1] == weight.itemsize and weight.dtype.itemsize < 8
    return mode == _SUM and padding_idx < 0 and rows and xp.ndarray is np.ndarray


_bag_of_each = Op(
    "_bag_of_each(Tensor indices, Tensor offsets)",
    lambda xp, indices, offsets: _bags(xp, indices, offsets, offsets.size).astype(dt.int64.numpy),
)


def _known(bags: Tensor, indices: Tensor, offsets: Tensor) -> Tensor:
    """The bag of each index, if need be found now."""
    return bags if bags.numel() == indices.numel() else _bag_of_each.apply(indices, offsets)


bag_rows_backward = Op(
    "_embedding_bag_rows_backward(Tensor grad_output, Tensor indices, Tensor bags, int num_weights, int padding_idx)",
    lambda xp, g, indices, bags, rows, never: _embedding_backward(xp, g[bags], indices, rows, never, False),
    {
        "grad_output": lambda g, grad_output_shape, indices, bags, padding_idx: g.new_zeros(
            grad_output_shape
        ).index_add(0, bags, _masked_embedding(g, indices, padding_idx)),
        "indices": None,
        "bags": None,
    },
    linear=True,
    batch=lambda g, indices, bags, rows, never: _embedding_backward_in_steps(
        g.index_select(0, bags), indices, rows, never, False
    ),
)


@published_whole(
    "_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, "
    "Tensor maximum_indices, int num_weights, bool scale_grad_by_freq, int mode, bool sparse, "
    "Tensor? per_sample_weights, int padding_idx=-1)",
    recorded=True, function=False, method=False,
)  # fmt: skip
def _embedding_bag_backward(
    g: Tensor, indices: Tensor, offsets: Tensor, bags: Tensor, sizes: Tensor, largest: Tensor, rows: int,
    scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Tensor | None, padding_idx: int,
) -> Tensor:  # fmt: skip
    """The gradient of the rows that bags were made of."""
    if mode == _MAX:
        spread = g * (sizes > 0).unsqueeze(-1)
        return g.new_zeros((rows, *g.shape[1:])).scatter_add(0, largest, spread)
    bags = _known(bags, indices, offsets)
    if mode == _MEAN:
        g = g / sizes.clamp_min(1).to(g.dtype).unsqueeze(-1)
    if per_sample_weights is None and not sparse and not scale_grad_by_freq:
        return bag_rows_backward.apply(g, indices, bags, rows, padding_idx)
    each = g.index_select(0, bags)
    each = each if per_sample_weights is None else each * per_sample_weights.unsqueeze(-1)
    backward = _sparse_gradient if sparse else embedding_dense_backward.apply
    return backward(each, indices, rows, padding_idx, scale_grad_by_freq)


def _bag_of_weight(
    g: Tensor, weight_shape: Sequence[int], indices: Tensor, offsets: Tensor, result1: Tensor, result2: Tensor,
    result3: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Tensor | None,
    padding_idx: int,
) -> Tensor:  # fmt: skip
    return _embedding_bag_backward(
        g, indices, offsets, result1, result2, result3, weight_shape[0], scale_grad_by_freq, mode, sparse,
        per_sample_weights, padding_idx,
    )  # fmt: skip


def _seen_bag(*values: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    *given, include_last_offset, padding_idx = values
    more = () if padding_idx == -1 else (padding_idx,)
    name = "_embedding_bag" if given[0].requires_grad else "_embedding_bag_forward_only"
    return name, (*given, *((include_last_offset, *more) if include_last_offset or more else ())), {}


def _bag_of_sample_weights(
    g: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, result1: Tensor, padding_idx: int
) -> Tensor:
    each = g.index_select(0, _known(result1, indices, offsets)) * weight.index_select(0, indices)
    return each.sum(-1).masked_fill(indices == padding_idx, 0)


_embedding_bag_op = Op(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) "
    "-> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)",
    _embedding_bag,
    {"weight": _bag_of_weight, "indices": None, "offsets": None, "per_sample_weights": _bag_of_sample_weights},
    check=_check_bag, differentiable=1, shows="mode padding_idx scale_grad_by_freq sparse weight_sym_argsize_0",
    seen_as=_seen_bag,
)  # fmt: skip
publish(_embedding_bag_op, method=False)


@published(
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None) "
    "-> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)",
    method=False,
)
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool,
    per_sample_weights: Tensor | None, include_last_offset: bool, padding_idx: int | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The sums, means or maxima of rows by bags; also the bag of each index, the bags' sizes and what was largest."""
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}"
        )
    elif padding_idx < 0:
        padding_idx += rows
    return _embedding_bag_op.apply(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
    )


# ---- one-hot vectors


def one_hot(self: Tensor, num_classes: int) -> Tensor:
    """Vectors of zeros with a one at the places that the tensor names."""
    if self.dtype is not dt.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not self.numel():
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return self.new_empty((*self.shape, num_classes))
    backend = self._backend.real
    if backend.values and not backend.level and (num_classes == -1 or not backend.asserts):
        least, largest = [int(t.item()) for t in self.aminmax()]
        if least < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes == -1:
            num_classes = largest + 1
        elif num_classes <= largest:
            raise RuntimeError("Class values must be smaller than num_classes.")
    elif num_classes == -1:
        refuse_batch(
            (self,),
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.",
        )
        num_classes = int(self.max().item()) + 1
    if backend.values and not backend.level:
        rows = tensors.zeros((*self.shape, num_classes), dtype=self.dtype, layout=self.layout, device=self.device)
        bump(rows)  # as PyTorch's zeros does inside
        return rows.scatter_(-1, self.unsqueeze(-1), 1)
    return (self.unsqueeze(-1) == tensors.arange(num_classes, device=self.device)).long()


one_hot_ = publish_python("one_hot(Tensor self, int num_classes=-1)", one_hot, function=False, method=False)


describe(embedding="The rows of `weight` at these indices.")
