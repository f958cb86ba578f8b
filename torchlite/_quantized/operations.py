"""What ops do to quantized tensors: on the integers, or on the numbers that these stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backends.of_integers import PerChannel, PerTensor, QuantizedBackend, quantized, real, rounded
from ..core.declare import Op, ViewOp
from ..core.machine import Tensor
from ..core.machine.registry import registry
from ..core.values import wrap_dim

rule = QuantizedBackend.rule


def _is_quantized(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_quantized  # type: ignore[return-value]


def _each(f: Callable[[Tensor], Any], value: Any) -> Any:
    """`f` of each quantized tensor, those in lists too."""
    if isinstance(value, (tuple, list)):
        return type(value)([_each(f, v) for v in value])
    return f(value) if _is_quantized(value) else value


def _first(values: Sequence[Any]) -> Tensor:
    found = next(v for v in values if _is_quantized(v) or (isinstance(v, (tuple, list)) and any(map(_is_quantized, v))))
    return found if isinstance(found, Tensor) else next(filter(_is_quantized, found))


def one_scale(t: Tensor) -> PerTensor:
    """The quantizer of a tensor with one scale."""
    quantizer = t._array.quantizer
    if not isinstance(quantizer, PerTensor):
        raise RuntimeError(
            "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.  (Could this error message "
            "be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    return quantizer


def _numbers(t: Tensor) -> Tensor:
    return real(t._array)


def _on_integers(op: Op, *values: Any) -> Any:
    """An op that moves elements about."""
    first = _first(values)
    quantizer = first._array.quantizer
    if isinstance(quantizer, PerChannel):
        quantizer = _moved(op, quantizer, first, values)
    made = op.apply(*[_each(lambda t: t._array.values, v) for v in values])
    again = [quantized(m, quantizer, first.dtype) for m in (made if isinstance(made, (tuple, list)) else (made,))]
    return tuple(again) if isinstance(made, (tuple, list)) else again[0]


def _moved(op: Op, quantizer: PerChannel, t: Tensor, values: Sequence[Any]) -> PerTensor | PerChannel:
    """What is left of channels by a view."""
    scales, zero_points, axis = quantizer
    name = op.signature.name
    if name in ("clone", "detach", "alias"):
        return quantizer
    if name in ("select", "slice", "unsqueeze"):
        dim = wrap_dim(values[1], t.dim() + (name == "unsqueeze"))
        if name == "unsqueeze":
            return PerChannel(scales, zero_points, axis + (dim <= axis))
        if name == "slice" and dim == axis:
            return PerChannel(op.apply(scales, 0, *values[2:]), op.apply(zero_points, 0, *values[2:]), axis)
        if name == "select" and dim == axis:
            return PerTensor(scales[values[2]].item(), zero_points[values[2]].item())
        return PerChannel(scales, zero_points, axis - (name == "select" and dim < axis))
    raise RuntimeError("Setting strides is possible only on uniformly quantized tensor")


def _on_numbers(op: Op, *values: Any) -> Any:
    """An op whose real results are quantized as the operand is."""
    first = _first(values)
    quantizer = one_scale(first)
    made = op.apply(*[_each(_numbers, v) for v in values])

    def back(t: Any) -> Any:
        return rounded(t, quantizer, first.dtype) if isinstance(t, Tensor) and t.is_floating_point() else t

    return tuple([back(t) for t in made]) if isinstance(made, (tuple, list)) else back(made)


def _told(op: Op, *values: Any) -> Any:
    """An op that tells of numbers: its results are not quantized."""
    return op.apply(*[_each(_numbers, v) for v in values])


def _among(ops: Sequence[str], does: Callable[..., Any]) -> None:
    for name in ops:
        for key, op in registry.items():
            if key == name or key.startswith(f"{name}."):
                rule(op.name)(lambda *values, op=op: does(op, *values))


_among([name for name, op in registry.items() if isinstance(op, ViewOp)], _on_integers)
_among(("clone", "index", "index_select", "gather", "flip", "repeat", "roll", "take"), _on_integers)
_among(
    ("relu", "clamp", "clamp_min", "clamp_max", "hardtanh", "leaky_relu", "threshold", "gelu", "max", "min", "sort",
     "topk", "cat", "stack", "masked_fill", "constant_pad_nd"),
    _on_numbers,
)  # fmt: skip
_among(("eq", "ne", "lt", "le", "gt", "ge", "equal"), _told)


@rule("fill.Scalar fill.Tensor", in_place=True)
def _fill(t: Tensor, value: Any) -> None:
    numbers = _numbers(t)
    t._array.write_numbers(numbers.fill_(value), t.dtype)


@rule("copy", in_place=True)
def _copy(t: Tensor, source: Tensor, *_: Any) -> None:
    if source.is_quantized:
        t._backend.real.write(t._array, source._array)
    else:
        t._array.write_numbers(source.float().expand(t.shape), t.dtype)


@rule("_to_copy")
def _to_copy(*_: Any) -> Any:
    raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


def _to_fixed(name: str, scale: float, zero_points: dict[str, int]) -> None:
    """An op whose results lie within limits, whatever the operand's scale."""
    op = registry[name]

    def run(t: Tensor) -> Tensor:
        one_scale(t)
        return rounded(op.apply(_numbers(t)), PerTensor(scale, zero_points[t.dtype.name]), t.dtype)

    rule(op.name)(run)


_to_fixed("sigmoid", 1 / 256, {"quint8": 0, "qint8": -128, "qint32": -(1 << 31)})
_to_fixed("hardsigmoid", 1 / 256, {"quint8": 0, "qint8": -128, "qint32": -(1 << 31)})
_to_fixed("tanh", 2 / 256, {"quint8": 128, "qint8": 0, "qint32": 0})
