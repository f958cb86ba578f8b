"""`torch.nested`: batches of tensors of different sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor
from ..core.values import DeviceLike, dt, jagged, strided
from ..operations.formulas import tensors
from ._internal import by_dimension, ops
from ._internal.nested_tensor import Ragged, from_list, nested
from ._strided import strided_from_list

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip


def _check_layout(layout: Any) -> Any:
    layout = strided if layout is None else layout
    if layout not in (strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    return layout


def _jagged(components: Sequence[Tensor]) -> Tensor:
    if not components:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for what in ("dtype", "device", "dim"):
        given = [getattr(t, what) if what != "dim" else t.dim() for t in components]
        if any(g != given[0] for g in given):
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must have the same {what}")
    if not components[0].dim():
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    return from_list(components)


def nested_tensor(
    tensor_list: Any, *, dtype: dt.dtype | None = None, layout: Any = None, device: DeviceLike = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A nested tensor with copies of these tensors; a leaf."""
    layout = _check_layout(layout)
    listed = list(tensor_list)
    components = [tensors.as_tensor(t, dtype=dtype, device=device).detach().clone() for t in listed]
    if layout is strided:
        return strided_from_list(components, requires_grad)
    return _jagged(components).requires_grad_(requires_grad)


def as_nested_tensor(ts: Any, dtype: dt.dtype | None = None, device: DeviceLike = None, layout: Any = None) -> Tensor:
    """A nested tensor of tensors, to which gradients come back."""
    layout = _check_layout(layout)
    if isinstance(ts, Tensor) and ts.is_nested:
        if layout is strided or ts.layout is not layout:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(device=device, dtype=dtype)
    fits = ts.dim() > 0 if isinstance(ts, Tensor) else isinstance(ts, (list, tuple)) and {*map(type, ts)} <= {Tensor}
    if not fits:
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    components = [t.to(device=device or t.device, dtype=dtype or t.dtype) for t in ts]
    return strided_from_list(components) if layout is strided else _jagged(components)


def nested_tensor_from_jagged(
    values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None, jagged_dim: int | None = None,
    min_seqlen: int | None = None, max_seqlen: int | None = None,
) -> Tensor:  # fmt: skip
    """A nested tensor over values in the jagged layout; where offsets and lengths are given, there may be holes."""
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = tensors.cat([lengths.new_zeros(1), lengths.cumsum(0)]), None
    if jagged_dim is None:
        jagged_dim = 1
    ragged = Ragged(offsets, lengths, jagged_dim)
    if max_seqlen is not None:
        ragged = ragged._replace(bounds=(ragged.least() if min_seqlen is None else min_seqlen, max_seqlen))
    return nested(values, ragged)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = None) -> Tensor:
    """Of every element of a batch a part along a dimension, in the same memory."""
    if _check_layout(layout) is strided:
        if not isinstance(start, int) or not isinstance(length, int):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return strided_from_list([t.narrow(dim - 1, start, length) for t in tensor.unbind()])
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    count, longest = tensor.shape[:2]
    start, length = (
        t if isinstance(t, Tensor) else tensors.full((count,), t, device=tensor.device) for t in (start, length)
    )
    begins = tensors.arange(count, device=tensor.device) * longest + start
    offsets = tensors.cat([begins, (begins[-1] + length[-1]).reshape((1,))])
    return nested(tensor.reshape((-1, *tensor.shape[2:])), Ragged(offsets, length))


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """A dense tensor with the components one beneath the other, and `padding` where they have nothing."""
    return input.to_padded_tensor(padding, output_size)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask is True, in a component for each row."""
    mask = mask.expand(tensor.shape)
    counts = mask.sum(-1).reshape(-1)
    offsets = tensors.cat([counts.new_zeros(1), counts.cumsum(0)])
    return nested(tensor.masked_select(mask), Ragged(offsets))
