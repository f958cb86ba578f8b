"""What quantized tensors tell of themselves; what makes them is in `_quantized`, which is loaded when it is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Composite, describe, publish, publish_python
from ...core.machine import Tensor
from ...core.values import missing_kernel_of, strided
from ...core.values.schemes import SCHEMES, qscheme


def _by_kind(*kinds: str) -> str:
    return " || ".join([f"quantizer->qscheme() == k{kind}" for kind in kinds])


_ONE = _by_kind("PerTensorAffine")
_MANY = _by_kind("PerChannelAffine", "PerChannelAffineFloatQParams")


def _publish(name: str, read: Callable[[Any], Any], expected: str = "", function: bool = True) -> None:
    """A function of a quantized tensor's array; of one with the kind of quantizer that is expected."""

    def call(self: Tensor) -> Any:
        if not self.is_quantized:
            raise missing_kernel_of(name, self._backend.real)
        quantizer = self._array.quantizer
        if expected and (expected is _ONE) is hasattr(quantizer, "axis"):
            raise RuntimeError(
                f"Expected {expected} to be true, but got false.  (Could this error message be improved?  If so, "
                "please report an enhancement request to PyTorch.)"
            )
        return read(self._array)

    publish_python(f"{name}(Tensor self)", call, function=function)


def _scheme(array: Any) -> qscheme:
    if not hasattr(array.quantizer, "axis"):
        return SCHEMES["per_tensor_affine"]
    whole = not array.quantizer.zero_points.is_floating_point()
    return SCHEMES["per_channel_affine" if whole else "per_channel_affine_float_qparams"]


_publish("int_repr", lambda array: array.values.clone())
_publish("qscheme", _scheme, function=False)  # which is the class
_publish("q_scale", lambda array: array.quantizer.scale, _ONE)
_publish("q_zero_point", lambda array: array.quantizer.zero_point, _ONE)
_publish("q_per_channel_scales", lambda array: array.quantizer.scales.clone(), _MANY)
_publish("q_per_channel_zero_points", lambda array: array.quantizer.zero_points.clone(), _MANY)
_publish("q_per_channel_axis", lambda array: array.quantizer.axis, _MANY)


def _dequantize(self: Tensor) -> Tensor:
    if self.layout is not strided:
        raise missing_kernel_of("dequantize.self", self._backend)
    if not self.is_quantized:
        return self.float()
    from ...backends.of_integers import real

    return real(self._array)


def _dequantize_all(given: Sequence[Tensor]) -> tuple[Tensor, ...]:
    if not given:
        raise NotImplementedError("There were no tensor arguments to this function (schema aten::dequantize.tensors).")
    for t in given:
        if not t.is_quantized:
            raise missing_kernel_of("dequantize.tensors", t._backend.real)
    return tuple(map(_dequantize, given))


publish(
    Composite("dequantize.self(Tensor self)", _dequantize),
    Composite("dequantize.tensors(Tensor[] tensors)", _dequantize_all),
)
Tensor.is_quantized = property(  # type: ignore[assignment, method-assign]
    lambda self: self._backend.quantized, doc="Whether the elements are integers that stand for numbers."
)

describe(
    int_repr="The integers of a quantized tensor.",
    qscheme="How a tensor is quantized: with one scale, or with one for each channel.",
    q_scale="The scale of a quantized tensor.",
    q_zero_point="The integer that stands for zero in a quantized tensor.",
    q_per_channel_scales="The scales of a tensor that is quantized by channels.",
    q_per_channel_zero_points="The zero points of a tensor that is quantized by channels.",
    q_per_channel_axis="The dimension of the channels by which a tensor is quantized.",
    dequantize="The numbers of a quantized tensor, in float32; those that another has, too; of several, those of each.",
)
