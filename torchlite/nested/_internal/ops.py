"""What elementwise functions, products and attention do on nested tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ...core.declare import Elementwise
from ...core.machine import Tensor
from ...core.machine.registry import registry
from ...operations.formulas import tensors
from .by_name import name_of, rule
from .nested_tensor import NestedTensor, Ragged, from_list, nested, values_of

# ---- dense tensors beside nested ones


def compact(t: NestedTensor) -> NestedTensor:
    """The same without holes."""
    return t if t._ragged.lengths is None else from_list(components(t))


def components(t: NestedTensor) -> tuple[Tensor, ...]:
    """The tensors that it is made of."""
    ragged, values = t._ragged, values_of(t)
    starts, counts = ragged.offsets.tolist(), ragged.counts().tolist()
    return tuple([values.narrow(ragged.dim - 1, start, n) for start, n in zip(starts, counts)])


def _places(t: NestedTensor, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of every value the component, the place in it, and whether that is below `longest`."""
    offsets = t._ragged.offsets
    which = tensors.arange(t._ragged.batch, device=offsets.device).repeat_interleave(offsets.diff())
    place = tensors.arange(which.shape[0], device=offsets.device) - offsets[which]
    return which, place, place < longest


def padded(t: NestedTensor, padding: Any, longest: int | None = None) -> Tensor:
    """The components one beneath the other, with `padding` where they have nothing."""
    if t._ragged.lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    at, longest = t._ragged.dim, t._ragged.most() if longest is None else longest
    values = values_of(t).movedim(at - 1, 0)
    which, place, fits = _places(t, longest)
    if longest < t._ragged.most():
        which, place, values = which[fits], place[fits], values[fits]
    made = values.new_full((t._ragged.batch, longest, *values.shape[1:]), padding).index_put((which, place), values)
    return made.movedim(1, at)


def from_padded(dense: Tensor, like: NestedTensor) -> NestedTensor:
    """What there is of a padded tensor, divided as `like` is."""
    at = like._ragged.dim
    which, place, _ = _places(like, 0)
    values = dense.movedim(at, 1)[which, place].movedim(0, at - 1)
    return nested(values, like._ragged)


def spread(t: Tensor, like: NestedTensor, name: str) -> Tensor:
    """A dense tensor as it goes with the values of a nested one."""
    ragged, n = like._ragged, like.dim()
    if not t.dim():
        return t
    whole = t.reshape((*(1,) * (n - t.dim()), *t.shape)) if t.dim() <= n else t
    if whole.dim() == n and whole.shape[ragged.dim] == 1 and whole.shape[0] in (1, ragged.batch):
        if whole.shape[0] == 1:
            return whole.squeeze(0)
        rows = whole.squeeze(ragged.dim).repeat_interleave(ragged.offsets.diff(), 0)
        return rows.movedim(0, ragged.dim - 1)
    if whole.dim() == n and whole.shape[0] == ragged.batch and whole.shape[ragged.dim] == ragged.most():
        return from_padded(whole, like)._values
    raise _mismatch(name, like.shape, t.shape)


def _mismatch(name: str, *shapes: Sequence[Any]) -> RuntimeError:
    return RuntimeError(
        "cannot call binary pointwise function {} with inputs of shapes {} and {}".format(_aten(name), *shapes)
    )


# ---- of each element, or of the last dimensions

_OPERATORS = """
    abs add and eq floordiv ge gt iadd iand imul invert ior ipow isub itruediv le lt mod mul ne neg or pos pow radd rand
    rfloordiv rmod rmul ror rpow rsub rtruediv rxor sub truediv xor
"""
_OF_EACH = """
    absolute alpha_dropout bfloat16 bool clamp_max clamp_min clip clone detach double dropout elu float gelu half
    hardsigmoid hardswish hardtanh int isfinite isinf isnan leaky_relu logsigmoid long masked_fill masked_fill_ mish
    native_dropout positive relu_ relu6 rsub selu short sigmoid silu softplus softsign square to type where zero_ fill_
    _to_copy alias native_dropout_backward threshold_backward dropout_ feature_dropout
"""
_REFLECTED = frozenset(("radd", "rmul", "rsub", "rtruediv", "rand", "ror", "rxor"))
_IN_PLACE = frozenset(("iadd", "imul", "isub", "itruediv", "iand", "ior", "ixor"))
_OF_ONE_FORM = frozenset((  # operators without overloads
    "atan2", "copysign", "fmax", "fmin", "gcd", "heaviside", "hypot", "lcm", "logaddexp", "logaddexp2", "logical_and",
    "logical_or", "logical_xor", "maximum", "minimum", "nextafter",
))  # fmt: skip
_OF_VALUES = "embedding one_hot linear layer_norm native_layer_norm rms_norm nll_loss _linear normalize_last"
_LIKE = "empty_like full_like ones_like rand_like randint_like randn_like zeros_like"


def _aten(name: str) -> str:
    """PyTorch's name of an operation of two tensors, with that of its overload."""
    base, suffix = name.removesuffix("_"), "_" * name.endswith("_")
    if name.startswith("__"):
        base = name.strip("_")
        suffix = "_" * (base in _IN_PLACE)
        base = base[1:] if base in _REFLECTED or suffix else base
        base = {"truediv": "div", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}.get(base, base)
    overload = "default" if base in _OF_ONE_FORM else "Tensor_Tensor" if base == "pow" else "Tensor"
    return f"{base}{suffix}.{overload}"


def first_of(values: Any) -> NestedTensor:
    return next(v for v in values if isinstance(v, NestedTensor))


def of_each(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    like, name = first_of((*args, *kwargs.values())), name_of(func)

    def on_values(v: Any) -> Any:
        if isinstance(v, NestedTensor):
            if v._ragged.size != like._ragged.size or v._ragged.dim != like._ragged.dim:
                raise _mismatch(name, tuple(like.shape), tuple(v.shape))  # as PyTorch prints them
            return values_of(v)
        return spread(v, like, name) if isinstance(v, Tensor) else v

    made = func(*map(on_values, args), **{key: on_values(v) for key, v in kwargs.items()})
    if isinstance(made, tuple):
        return type(made)([nested(m, like._ragged) for m in made])
    if isinstance(args[0], NestedTensor) and made is args[0]._values:
        return args[0]
    return nested(made, like._ragged)


def _of_values(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    like = first_of((*args, *kwargs.values()))
    made = func(*[values_of(v) if isinstance(v, NestedTensor) else v for v in args], **kwargs)
    return nested(made, like._ragged)


def _in_place_too(name: str) -> str:
    base = name.split(".")[0]
    return f"{base} {base}_"


_ELEMENTWISE = " ".join([_in_place_too(name) for name, op in registry.items() if isinstance(op, Elementwise)])
rule(_ELEMENTWISE)(of_each)
rule(_OF_EACH)(of_each)
rule(" ".join([f"__{name}__" for name in _OPERATORS.split()]))(of_each)


@rule("copy_")
def _copy(func: Callable[..., Any], self: NestedTensor, src: Any, non_blocking: bool = False) -> NestedTensor:
    if not isinstance(src, NestedTensor):
        raise ValueError(
            "NestedTensor copy_default(self: jt_all, src: jt_all, non_blocking: any?): expected src to be a jagged "
            "layout NestedTensor"
        )
    if [t.shape for t in self.unbind()] != [t.shape for t in src.unbind()]:
        raise RuntimeError(f"copy_(): expected compatible input and src shapes, but got: {self.shape} and {src.shape}")
    func(values_of(self), values_of(src), non_blocking)
    return self


@rule("item")
def _item(func: Callable[..., Any], self: NestedTensor) -> Any:
    count = values_of(self).numel()
    if count == 1:
        raise NotImplementedError("aten._local_scalar_dense.default")
    raise RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar")


rule(_OF_VALUES)(_of_values)
rule(_LIKE)(_of_values)


@rule("embedding_bag")
def _embedding_bag(
    func: Any, input: NestedTensor, weight: Tensor, offsets: None = None, *args: Any, per_sample_weights: Any = None,
    **named: Any,
) -> Tensor:  # fmt: skip
    """The components are the bags."""
    if isinstance(per_sample_weights, NestedTensor):
        per_sample_weights = values_of(per_sample_weights)
    starts = input._ragged.offsets[:-1]
    made: Tensor = func(
        values_of(input), weight, starts, *args, per_sample_weights=per_sample_weights, **named
    )
    return made


@rule("new_empty new_full new_ones new_zeros")
def _new(func: Callable[..., Any], self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("new_empty() not supported for NJT with shape != ()")


@rule("to_padded_tensor")
def _to_padded_tensor(func: Callable[..., Any], self: NestedTensor, padding: float, output_size: Any = None) -> Tensor:
    ragged = self._ragged
    if output_size is not None:
        return padded(self, padding, output_size[ragged.dim])
    return padded(self, padding, ragged.bounds[1] if ragged.bounds else self._values.shape[0])


@rule("contiguous")
def _contiguous(func: Callable[..., Any], self: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    self = compact(self)
    return self if self.is_contiguous() else nested(values_of(self).contiguous(), self._ragged)


@rule("mse_loss pad")
def _unknown(func: Callable[..., Any], *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(f"aten.{'constant_pad_nd' if name_of(func) == 'pad' else name_of(func)}.default")


@rule("equal allclose")
def _equal(func: Callable[..., Any], self: NestedTensor, other: NestedTensor, *args: Any, **kwargs: Any) -> bool:
    if self._ragged.size != other._ragged.size:
        return False
    return bool(func(self._values, other._values, *args, **kwargs))


# ---- products


@rule("matmul __matmul__ bmm __rmatmul__")
def _matmul(func: Callable[..., Any], self: Any, *args: Any, **named: Any) -> Any:
    (other,) = (*args, *named.values())  # which has several names
    if name_of(func) == "__rmatmul__":
        self, other = other, self
    a, b = (isinstance(t, NestedTensor) for t in (self, other))
    last = self.dim() - 1
    if a and not b and self._ragged.dim != last:
        if other.dim() <= 2:
            return nested(values_of(self).matmul(other), self._ragged)
        if self._ragged.dim == last - 1 and other.dim() == self.dim():
            self = compact(self)
            return from_padded(padded(self, 0).matmul(other), self)
    if a and b and self._ragged.dim == last and other._ragged.dim == other.dim() - 2:
        return padded(self, 0).matmul(padded(other, 0))
    if b and not a and other._ragged.dim == other.dim() - 1 and self.dim() == other.dim():
        other = compact(other)
        return from_padded(self.matmul(padded(other, 0)), other)
    shapes = [tuple(t.shape) if isinstance(t, NestedTensor) and t is self else t.shape for t in (self, other)]
    raise RuntimeError(f"matmul(): not supported between inputs of shapes {shapes[0]} and {shapes[1]}")


# ---- attention


@rule("scaled_dot_product_attention")
def _attention(
    func: Callable[..., Any], query: NestedTensor, key: NestedTensor, value: NestedTensor, attn_mask: Any = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> NestedTensor:  # fmt: skip
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    if query.dim() != 4 or any(not isinstance(t, NestedTensor) or t._ragged.dim != 2 for t in (query, key, value)):
        raise RuntimeError("No viable backend for scaled_dot_product_attention was found.")
    made = [
        func(q, k, v, dropout_p=dropout_p, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa).transpose(0, 1)
        for q, k, v in zip(*map(components, (query, key, value)))
    ]
    ragged = query._ragged if query._ragged.lengths is None else compact(query)._ragged
    return nested(tensors.cat(made).transpose(0, 1), Ragged(ragged.offsets, None, 2, ragged.bounds))
