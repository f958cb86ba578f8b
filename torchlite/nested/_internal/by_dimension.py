"""What functions along dimensions do on nested tensors: reductions, softmax, rearranging."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.machine import Tensor
from ...core.values import dt, wrap_dim
from ...operations.formulas import tensors
from .by_name import name_of, rule
from .nested_int import NestedInt
from .nested_tensor import NestedTensor, Ragged, nested, values_of
from .ops import compact, components, first_of, from_padded, of_each, padded


def _refuse_batch(name: str, d: int) -> None:
    if d == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")


def _inner(t: NestedTensor, dim: int, name: str, more: int = 0) -> int:
    """The dimension of the values that stands for one of a nested tensor, which is not that of the batch."""
    d = wrap_dim(dim, t.dim() + more)
    _refuse_batch(name, d)
    return d - 1


def _but_ragged(t: NestedTensor, dim: int, name: str) -> int:
    d = _inner(t, dim, name)
    if d + 1 == t._ragged.dim:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return d


# ---- reductions


def _identity(name: str, d: dt.dtype) -> Any:
    """The neutral element of a reduction, for padding."""
    if name in ("amax", "max", "argmax", "amin", "min", "argmin", "logsumexp"):
        low = name in ("amax", "max", "argmax", "logsumexp")
        limits = None if d.category >= dt.FLOAT else dt.iinfo(d)
        return (-math.inf if low else math.inf) if limits is None else limits.min if low else limits.max
    return {"prod": 1, "all": True, "any": False}.get(name, 0)


@rule("max min")
def _extreme(func: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    """The largest elements of two tensors, or those along a dimension."""
    two = any(isinstance(v, Tensor) for v in (*args, *kwargs.values()))
    return (of_each if two else _reduction)(func, self, *args, **kwargs)


@rule("sum mean amax amin all any prod argmax argmin logsumexp")
def _reduction(func: Any, self: NestedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    name = name_of(func)
    self = compact(self)
    ragged, values = self._ragged, values_of(self)
    if dim is None:
        return func(values, **kwargs)
    several = not isinstance(dim, int)
    dims = sorted({wrap_dim(d, self.dim()) for d in (dim if several else (dim,))})
    inner = [d - 1 for d in dims if d]
    if 0 in dims:
        if ragged.dim not in dims:
            raise RuntimeError(
                f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for "
                "nested tensors"
            )
        made = func(values, inner, keepdim, **kwargs)
        return made.unsqueeze(0) if keepdim else made
    if ragged.dim in dims:
        if len(dims) > 1:
            raise RuntimeError(
                f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors"
            )
        return _along_ragged(func, self, keepdim, kwargs)
    made = func(values, inner if several else inner[0], keepdim, **kwargs)
    at = ragged.dim if keepdim else ragged.dim - sum([d < ragged.dim for d in dims])
    if isinstance(made, Tensor):
        return nested(made, ragged._replace(dim=at))
    return type(made)([nested(m, ragged._replace(dim=at)) for m in made])


def _along_ragged(func: Callable[..., Any], self: NestedTensor, keepdim: bool, kwargs: dict[str, Any]) -> Any:
    at, name = self._ragged.dim, name_of(func)
    made = func(padded(self, _identity(name, self.dtype)), at, keepdim, **kwargs)
    if name != "mean":
        return made
    lengths = self._ragged.counts().to(made.dtype)
    shape = [-1] + [1] * (made.dim() - 1)
    return made * (self._ragged.most() / lengths).reshape(shape)


@rule("softmax log_softmax softmin _softmax _log_softmax")
def _softmax(func: Any, self: NestedTensor, dim: int | None = None, *args: Any, **kwargs: Any) -> NestedTensor:
    d = wrap_dim(-1 if dim is None else dim, self.dim())
    if d == 0:
        name = name_of(func).strip("_")
        raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
    if d != self._ragged.dim:
        return nested(func(values_of(self), d - 1, *args, **kwargs), self._ragged)
    self = compact(self)
    fill = math.inf if name_of(func) == "softmin" else -math.inf
    return from_padded(func(padded(self, fill), d, *args, **kwargs), self)


@rule("cross_entropy")
def _cross_entropy(func: Callable[..., Any], input: NestedTensor, *args: Any, **kwargs: Any) -> Tensor:
    raise RuntimeError("log_softmax(): not supported when reducing along the ragged dimension for NestedTensor")


# ---- components


@rule("unbind")
def _unbind(func: Callable[..., Any], self: NestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    if dim != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return components(self)


@rule("__getitem__")
def _item(func: Callable[..., Any], self: NestedTensor, index: Any) -> Any:
    items = index if isinstance(index, tuple) else (index,)
    if isinstance(items[0], int):
        one = components(self)[items[0]]
        return one[items[1:]] if items[1:] else one
    if items[0] is Ellipsis and sum([i is not None for i in items[1:]]) < self.dim() - self._ragged.dim:
        return nested(values_of(self)[items], self._ragged)
    raise RuntimeError("slice(): not supported for NestedTensor on dim=0")


@rule("select")
def _select(func: Callable[..., Any], self: NestedTensor, dim: int, index: int) -> Any:
    if wrap_dim(dim, self.dim()) == 0:
        return components(self)[index]
    d = _but_ragged(self, dim, "select")
    at = self._ragged.dim - (d + 1 < self._ragged.dim)
    return nested(values_of(self).select(d, index), self._ragged._replace(dim=at))


@rule("narrow")
def _narrow(func: Callable[..., Any], self: NestedTensor, dim: int, start: int, length: int) -> NestedTensor:
    return nested(values_of(self).narrow(_but_ragged(self, dim, "narrow"), start, length), self._ragged)


@rule("slice")
def _slice(func: Callable[..., Any], self: NestedTensor, dim: int = 0, *bounds: Any) -> NestedTensor:
    return nested(func(values_of(self), _but_ragged(self, dim, "slice"), *bounds), self._ragged)


@rule("chunk split split_with_sizes tensor_split unsafe_chunk unsafe_split")
def _parts(func: Callable[..., Any], self: NestedTensor, *args: Any, dim: int = 0, **named: Any) -> tuple[Any, ...]:
    how, *last = (*named.values(), *args)  # what says how has many names
    name, dim = name_of(func), last[0] if last else dim
    if wrap_dim(dim, self.dim()) == 0 and name == "chunk":
        step = -(-self._ragged.batch // how)
        return tuple([_rows(self, at, min(at + step, self._ragged.batch)) for at in range(0, self._ragged.batch, step)])
    parts = func(values_of(self), how, _but_ragged(self, dim, name))
    return tuple([nested(part, self._ragged) for part in parts])


def _rows(t: NestedTensor, low: int, high: int) -> NestedTensor:
    """Some of the components."""
    offsets, values = t._ragged.offsets[low : high + 1], values_of(t)
    start, end = int(offsets[0]), int(offsets[-1])
    lengths = None if t._ragged.lengths is None else t._ragged.lengths[low:high]
    part = values.narrow(t._ragged.dim - 1, start, end - start)
    return nested(part, Ragged(offsets - start, lengths, t._ragged.dim))


@rule("cat concat concatenate stack")
def _joined(func: Callable[..., Any], given: Sequence[Any], dim: int = 0) -> NestedTensor:
    like, name = first_of(given), name_of(func)
    d = _inner(like, dim, name, name == "stack")
    if name != "stack" and d + 1 == like._ragged.dim:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    at = like._ragged.dim + (name == "stack" and d + 1 <= like._ragged.dim)
    return nested(func([values_of(t) for t in given], d), like._ragged._replace(dim=at))


@rule("index_put index_put_")
def _index_put(
    func: Callable[..., Any], self: NestedTensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> NestedTensor:
    ragged, (which, *inner) = self._ragged, indices
    if len(inner) >= ragged.dim:
        place = inner[ragged.dim - 1]
        if (place >= ragged.counts()[which]).any():
            raise RuntimeError("Some indices in the ragged dimension are out of bounds!")
        inner[ragged.dim - 1] = ragged.offsets[which] + place
    elif ragged.lengths is not None or ragged.dim > 1:
        raise RuntimeError(
            "index_put(): If ragged dimension is not part of indices, this only works on contiguous NJTs"
        )
    else:  # whole components
        chosen = (which == tensors.arange(ragged.batch).unsqueeze(1)).any(1)
        inner = [chosen.repeat_interleave(ragged.counts())]
    made = func(values_of(self), tuple(inner), values, accumulate)
    return self if made is self._values else nested(made, ragged)


@rule("masked_select")
def _masked_select(func: Callable[..., Any], self: NestedTensor, mask: NestedTensor) -> NestedTensor:
    if self.dim() > 2:
        raise RuntimeError("masked_select only support 2-D selections currently")
    if tuple(mask.shape) != tuple(self.shape):
        raise RuntimeError(f"Mask with shape {mask.shape} is not compatible with input's shape {self.shape}")
    self, mask = compact(self), compact(mask)
    chosen = values_of(mask)
    before = tensors.cat([chosen.new_zeros(1, dtype=dt.int64), chosen.cumsum(0)])  # so many are chosen up to there
    return nested(func(values_of(self), chosen), Ragged(before[self._ragged.offsets]))


# ---- rearranging


@rule("transpose swapaxes swapdims")
def _transpose(func: Callable[..., Any], self: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    a, b = (wrap_dim(d, self.dim()) for d in (dim0, dim1))
    if a != b and 0 in (a, b):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    at = {a: b, b: a}.get(self._ragged.dim, self._ragged.dim)
    return nested(values_of(self).transpose(a - 1, b - 1), self._ragged._replace(dim=at))


@rule("permute")
def _permute(func: Callable[..., Any], self: NestedTensor, *dims: Any) -> NestedTensor:
    listed = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [wrap_dim(d, self.dim()) for d in listed]
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    ragged = self._ragged._replace(dim=order.index(self._ragged.dim))
    return nested(values_of(self).permute([d - 1 for d in order[1:]]), ragged)


@rule("unsqueeze")
def _unsqueeze(func: Callable[..., Any], self: NestedTensor, dim: int) -> NestedTensor:
    d = _inner(self, dim, "unsqueeze", 1)
    ragged = self._ragged._replace(dim=self._ragged.dim + (d + 1 <= self._ragged.dim))
    return nested(values_of(self).unsqueeze(d), ragged)


@rule("squeeze")
def _squeeze(func: Callable[..., Any], self: NestedTensor, dim: int | None = None) -> NestedTensor:
    if dim is None:
        raise NotImplementedError("aten.squeeze.default")
    d = _but_ragged(self, dim, "squeeze")
    gone = values_of(self).shape[d] == 1 and d + 1 < self._ragged.dim
    return nested(values_of(self).squeeze(d), self._ragged._replace(dim=self._ragged.dim - gone))


@rule("flatten")
def _flatten(func: Callable[..., Any], self: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    start, end = _inner(self, start_dim, "flatten"), _inner(self, end_dim, "flatten")
    if start + 1 <= self._ragged.dim <= end + 1:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    ragged = self._ragged._replace(dim=self._ragged.dim - (end - start if end + 1 < self._ragged.dim else 0))
    return nested(values_of(self).flatten(start, end), ragged)


@rule("unflatten")
def _unflatten(func: Callable[..., Any], self: NestedTensor, dim: int, sizes: Sequence[int]) -> NestedTensor:
    d = _but_ragged(self, dim, "unflatten")
    ragged = self._ragged._replace(dim=self._ragged.dim + (len(sizes) - 1 if d + 1 < self._ragged.dim else 0))
    return nested(values_of(self).unflatten(d, sizes), ragged)


@rule("view reshape _unsafe_view")
def _view(func: Callable[..., Any], self: NestedTensor, *shape: Any) -> NestedTensor:
    if isinstance(shape[0], dt.dtype):
        raise NotImplementedError("aten.view.dtype")
    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    at = next((d for d, n in enumerate(sizes) if isinstance(n, NestedInt)), self._ragged.dim)
    values = values_of(self)
    total = values.shape[self._ragged.dim - 1]
    inner = [total if d == at else n for d, n in enumerate(sizes) if d]
    count = math.prod([n for n in inner if n != -1])
    whole = count == values.numel() or (-1 in inner and count > 0 and values.numel() % count == 0)
    known = len(sizes) > at and sizes[0] in (self._ragged.batch, -1) and sizes[at] in (-1, self._ragged.size)
    if not (whole and known):
        raise RuntimeError(f"view(): cannot view shape {tuple(self.shape)} as {sizes}")
    return nested(getattr(values, name_of(func))(inner), self._ragged._replace(dim=at))


@rule("expand")
def _expand(func: Callable[..., Any], self: NestedTensor, *shape: Any) -> NestedTensor:
    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    inner = [-1 if isinstance(n, NestedInt) else n for n in sizes[1:]]
    return nested(values_of(self).expand(inner), self._ragged)


@rule("expand_as")
def _expand_as(func: Callable[..., Any], self: NestedTensor, other: NestedTensor) -> NestedTensor:
    return _expand(func, self, tuple(other.shape))


@rule("is_same_size")
def _is_same_size(func: Callable[..., Any], self: Any, other: Any) -> bool:
    return tuple(self.shape) == tuple(other.shape)


@rule("stride")
def _stride(func: Callable[..., Any], self: NestedTensor, dim: int | None = None) -> Any:
    return self.stride(dim)
