"""`segment_reduce`: sums, means, products and extremes of stretches of a dimension, one after the other."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Op, publish_python
from ...core.machine import Tensor, functions
from ...core.values import Namespace, dt, missing_kernel_of, not_implemented_for, strided, wrap_dim
from ..vocabulary import requirement

_KINDS = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin", "amax": "amax", "amin": "amin"}
_OF_NOTHING = {"sum": 0, "prod": 1, "amax": -math.inf, "amin": math.inf}
_require = requirement("segment_reduce(): ")


def _segments(xp: Namespace, lengths: Any, offsets: Any, size: int, unsafe: bool) -> tuple[Any, Any]:
    if offsets is None:
        if not unsafe:
            if (lengths < 0).any().item():
                raise RuntimeError("lengths contains negative value!")
            _require(
                (lengths.sum(-1) == size).all().item(),
                "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.",
            )
        lengths = lengths.reshape((-1, lengths.shape[-1]))
        bounds = xp.concatenate((xp.zeros((len(lengths), 1), "int64"), lengths.cumsum(1)), 1)
    else:
        bounds = offsets.reshape((-1, offsets.shape[-1]))
    rows, count = bounds.shape[0], bounds.shape[1] - 1
    row = xp.arange(rows).reshape((-1, 1))
    # How many segments begin at each place, then up to there.
    begun = xp.bincount((row * (size + 1) + bounds.clip(0, size)).reshape(-1), minlength=rows * (size + 1))
    segment = begun.reshape((rows, size + 1))[:, :size].cumsum(1) - 1
    inside = (segment >= 0) & (segment < count)
    return xp.where(inside, segment + row * count, rows * count).reshape(-1), xp.diff(bounds).reshape((-1, 1))


segments = Op(
    "_segments(Tensor? lengths, Tensor? offsets, int size, bool unsafe) -> (Tensor result0, Tensor result1)", _segments
)


def segment_reduce(
    data: Tensor, reduce: str, lengths: Tensor | None, indices: Tensor | None, offsets: Tensor | None, axis: int,
    unsafe: bool, initial: Any,
) -> Tensor:  # fmt: skip
    """Segments of a dimension, given by their lengths or by where they begin, each reduced to one element."""
    if data.layout is not strided:
        raise missing_kernel_of("segment_reduce", data._backend.real)
    axis = wrap_dim(axis, data.dim())
    if reduce not in _KINDS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _require(indices is None, "indices based reduction is not supported yet.")
    if offsets is not None:
        given: Any = offsets
        name, lengths = "offsets", None
    else:
        _require(lengths is not None, "Either lengths or offsets must be defined.")
        given, name = lengths, "lengths"
    _require(axis == given.dim() - 1, f"Expected axis to be the last dimension of {name} but got {axis}.")
    if given.dtype not in (dt.int32, dt.int64):
        raise not_implemented_for(f"_segment_reduce_{name}_cpu_kernel1", given.dtype)
    if data.dtype not in dt.FLOATS:
        raise not_implemented_for("_segment_reduce_cpu", data.dtype)
    shape, number, kind = data.shape, given.shape[-1] - (name == "offsets"), _KINDS[reduce]
    target, members = segments.apply(lengths, offsets, shape[axis], unsafe)  # what is in no segment goes past the end
    count = members.shape[0]
    source = data.reshape(target.shape[0], math.prod(shape[axis + 1 :]))
    start = _OF_NOTHING[kind] if initial is None or kind in ("amax", "amin") else initial
    made = data.new_full((count + 1, source.shape[1]), start)
    made = made.scatter_reduce(0, target.unsqueeze(1).expand(source.shape), source, kind)[:count]
    if reduce == "mean":
        made = made / (members if initial is None else members.clamp_min(1))
    elif kind in ("amax", "amin") and initial is not None:
        made = made.clamp_min(initial) if kind == "amax" else made.clamp_max(initial)
    return made.reshape(*shape[:axis], number, *shape[axis + 1 :])


functions["_segment_reduce"] = publish_python(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, "
    "int axis=0, bool unsafe=False, Scalar? initial=None)",
    segment_reduce,
    method=False,
)
