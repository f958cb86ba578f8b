"""What operations make of masked tensors: something of the data, and a mask for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...backends.sparse import like as of_array
from ...core.declare import rules_in
from ...core.machine import Tensor
from ...core.values import strided

Rule = Callable[..., Any]

_UNARY = """
    abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil
    clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac i0 isfinite isnan
    isreal lgamma log log10 log1p log2 logit nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sgn
    sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc
"""
_BINARY = """
    add atan2 arctan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div divide eq
    floor_divide fmax fmin fmod ge greater greater_equal gt isclose le less less_equal logaddexp logaddexp2 lt maximum
    minimum mul multiply ne nextafter not_equal remainder sub subtract true_divide
"""
_REARRANGING = """
    _reshape_alias _unsafe_view alias cat clone contiguous detach expand index new_empty_strided select select_backward
    slice slice_backward split split_with_sizes stack t transpose unfold unsqueeze view
"""
_NOT_IN_PLACE = ("angle", "isnan", "positive", "signbit", "fmax", "fmin", "logaddexp", "logaddexp2")

_rules: dict[str, Rule] = {}
_rule = rules_in(_rules)


def rule_of(func: Any) -> Rule | None:
    """What makes masked tensors of a call of an overload of `torch.ops.aten`; None where nothing does."""
    return _rules.get(func.overloadpacket.__name__)


def _in_place(names: str) -> str:
    return " ".join([f"{name}_" for name in names.split() if name not in _NOT_IN_PLACE])


def _is_masked(value: Any) -> bool:
    return hasattr(value, "_masked_mask")


def _data(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_data(v) for v in value]
    return value._masked_data if _is_masked(value) else value


def _mask(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_mask(v) for v in value]
    return value._masked_mask if _is_masked(value) else value


def _made(like: Any, data: Any, mask: Any) -> Any:
    """Masked tensors of the class of one."""
    if isinstance(data, (list, tuple)):
        return [_made(like, d, m) for d, m in zip(data, mask)]
    return type(like)(data, mask)


# ---- elementwise


def _apply(func: Callable[..., Any], first: Tensor, rest: Any, kwargs: dict[str, Any]) -> Tensor:
    """An elementwise operation: on the values alone where tensors are sparse."""
    sparse = [t for t in (first, *rest) if isinstance(t, Tensor) and t.layout is not strided]
    if not sparse:
        return func(first, *rest, **kwargs)
    like = sparse[0].coalesce() if sparse[0].is_sparse else sparse[0]

    def values(t: Any) -> Any:
        if not isinstance(t, Tensor) or t.layout is strided:
            return t
        return (t.coalesce() if t.is_sparse else t).values()

    return of_array(like, like._array.with_values(func(values(first), *map(values, rest), **kwargs)))


@_rule(_UNARY + _in_place(_UNARY))
def _unary(func: Callable[..., Any], self: Any, *rest: Any, **kwargs: Any) -> Any:
    if any(isinstance(v, Tensor) for v in (*rest, *kwargs.values())) or not _is_masked(self):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    made = _apply(func, self._masked_data, rest, kwargs)
    return self if made is self._masked_data else type(self)(made, self._masked_mask)


def _same_masks(a: Tensor, b: Tensor) -> bool:
    if a.layout is not b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    a, b = a.to_dense(), b.to_dense()
    return a.shape == b.shape and bool((a == b).all())


@_rule(_BINARY + _in_place(_BINARY))
def _binary(func: Any, self: Any, other: Any, **kwargs: Any) -> Any:
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    masked = self if _is_masked(self) else other
    mask = masked._masked_mask
    if _is_masked(self) and _is_masked(other) and not _same_masks(mask, other._masked_mask):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    if func.overloadpacket.__name__.endswith("_") and not _is_masked(self):
        raise ValueError("Input must be a MaskedTensor if mask is given in place")
    made = _apply(func, _data(self), (_data(other),), {})
    if made is _data(self):
        return self
    return type(masked)(made, mask.expand(made.shape) if mask.layout is strided else mask)


@_rule("where")
def _where(func: Callable[..., Any], condition: Any, self: Any, other: Any) -> Any:
    like = next(v for v in (self, other, condition) if _is_masked(v))
    condition = _data(condition)
    made = func(condition, _data(self), _data(other))
    here, there = (v._masked_mask if _is_masked(v) else condition.new_zeros(()) for v in (self, other))
    return type(like)(made, ((condition & here) | (~condition & there)).expand(made.shape))


@_rule("sum")
def _sum(func: Callable[..., Any], self: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    """The sum that a gradient is brought to the shape of an operand by."""
    mask = self._masked_mask
    along = () if dim is None else (dim, keepdim)
    return type(self)(self._masked_data.masked_fill(~mask, 0).sum(*along, **kwargs), mask.any(*along))


# ---- what rearranges, converts, and makes others like them


@_rule(_REARRANGING)
def _rearranged(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    like = next(v for a in args for v in (a if isinstance(a, (list, tuple)) else (a,)) if _is_masked(v))
    return _made(like, func(*map(_data, args), **kwargs), func(*map(_mask, args), **kwargs))


@_rule("_to_copy")
def _converted(func: Callable[..., Any], self: Any, **kwargs: Any) -> Any:
    mask = self._masked_mask
    device = kwargs.get("device")
    return type(self)(func(self._masked_data, **kwargs), mask if device is None else mask.to(device))


@_rule("ones_like")
def _ones_like(func: Callable[..., Any], self: Any, **kwargs: Any) -> Any:
    return type(self)(func(self._masked_data, **kwargs), self._masked_mask)


@_rule("copy_")
def _copy(func: Callable[..., Any], self: Any, source: Any, *rest: Any) -> Any:
    self._masked_data.copy_(_data(source))
    self._masked_mask.copy_(_mask(source))
    return self


@_rule("_softmax")
def _softmax(func: Callable[..., Any], self: Any, dim: int, half_to_float: bool = False) -> Any:
    filled = self._masked_data.masked_fill(~self._masked_mask, -math.inf)
    return type(self)(func(filled, dim, half_to_float), self._masked_mask)


@_rule("_softmax_backward_data")
def _softmax_backward(func: Callable[..., Any], g: Any, output: Any, dim: int, d: Any) -> Any:
    grad = _data(g).masked_fill(~output._masked_mask, 0)
    filled = output._masked_data.masked_fill(~output._masked_mask, 0)
    return type(output)(func(grad, filled, dim, d), output._masked_mask)


@_rule("_local_scalar_dense")
def _number(func: Any, self: Any) -> Any:
    if not bool(self._masked_mask):
        raise ValueError(f"__torch_dispatch__, {func.overloadpacket}: expected a mask tensor")
    return self._masked_data.item()


@_rule("is_same_size")
def _is_same_size(func: Callable[..., Any], self: Any, other: Any) -> bool:
    return self.shape == other.shape
