"""Layers whose weights are integers or halves: FBGEMM's functions, and ops of quantized layers by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.of_integers import PerTensor, real, rounded
from ..core.declare import Composite, describe, publish, publish_python, published
from ..core.machine import Tensor, functions
from ..core.values import dt
from ..operations.vocabulary import requirement
from .operations import one_scale
from .qparams import chosen

_require = requirement("")

# ---- linear layers

_WEIGHTS = (
    "Tensor input, Tensor weight, Tensor packed, Tensor col_offsets, Scalar weight_scale, Scalar weight_zero_point, "
    "Tensor bias"
)


def _check(input: Tensor, bias: Tensor | None) -> None:
    _require(input.dtype is dt.float32, f"expected scalar type Float but found {input.dtype.legacy}")
    _require(bias is None or bias.dim() == 1, "Expected bias.dim() == 1 to be true, but got false.")


def _linear_of_integers(
    input: Tensor, weight: Tensor, packed: Tensor, col_offsets: Tensor, weight_scale: Any, weight_zero_point: Any,
    bias: Tensor,
) -> Tensor:  # fmt: skip
    """`linear` with weights of eight bits, for which the input is rounded to eight bits too."""
    _check(input, bias)
    _require(input.dim() >= 2, "Expected input.dim() >= 2 to be true, but got false.")
    scale, zero_point = chosen(input.min().item(), input.max().item(), 0, 255)
    codes = (input * input.new_tensor(scale).reciprocal()).round() + zero_point
    whole = codes.clamp(0, 255).double() - zero_point
    made = whole @ (weight.double() - weight_zero_point).mT
    return (made * (scale * float(weight_scale)) + bias.double()).to(input.dtype)


def _quantize_weight(input: Tensor) -> tuple[Tensor, Tensor, float, int]:
    _check(input, None)
    scale, zero_point = chosen(input.min().item(), input.max().item(), -128, 127)
    codes = ((input * input.new_tensor(scale).reciprocal()).round() + zero_point).clamp(-128, 127).to(dt.int8)
    offsets = codes.sum(1, dtype=dt.int32) - zero_point * input.shape[1]
    return codes, offsets, scale, zero_point


def _weights(input: Tensor, d: dt.dtype) -> Tensor:
    """What is packed: a matrix of this dtype."""
    input.size(1)
    if input.dtype is not d:
        raise RuntimeError(f"expected scalar type {d.legacy} but found {input.dtype.legacy}")
    return input.contiguous()


def _half(input: Tensor) -> Tensor:
    """Weights as halves, none infinite."""
    input = _weights(input, dt.float32)
    limit = dt.finfo(dt.float16).max
    return input.clamp(-limit, limit).half()


def _linear_of_halves(input: Tensor, packed_weight: Tensor, bias: Tensor | None) -> Tensor:
    _check(input, bias)
    _require(packed_weight.dtype is dt.float16, "Expected temporary cpp type wrapper")
    made = input @ packed_weight.to(input.dtype).mT
    return made if bias is None else made + bias


for _name in ("fbgemm_linear_int8_weight", "fbgemm_linear_int8_weight_fp32_activation"):
    publish_python(f"{_name}({_WEIGHTS})", _linear_of_integers, method=False)
for _name, _bias in (
    ("fbgemm_linear_fp16_weight", "Tensor bias"), ("fbgemm_linear_fp16_weight_fp32_activation", "Tensor? bias"),
):  # fmt: skip
    publish_python(f"{_name}(Tensor input, Tensor packed_weight, {_bias})", _linear_of_halves, method=False)
publish_python("fbgemm_linear_quantize_weight(Tensor input)", _quantize_weight, method=False)
publish_python("fbgemm_pack_gemm_matrix_fp16(Tensor input)", _half, method=False)
publish(
    Composite("fbgemm_pack_quantized_matrix(Tensor input)", lambda input: _weights(input, dt.int8)),
    Composite("fbgemm_pack_quantized_matrix.KN(Tensor input, int K, int N)", lambda t, *_: _weights(t, dt.int8)),
    method=False,
)

# ---- cells of recurrent layers

_PARTS = (
    "Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, Tensor packed_hh, Tensor col_offsets_ih, "
    "Tensor col_offsets_hh, Scalar scale_ih, Scalar scale_hh, Scalar zero_point_ih, Scalar zero_point_hh"
)


def _gates(input: Tensor, hx: Tensor, parts: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """What a cell's two layers make of the input and of the state."""
    w, b, packed, offsets, scales, zero_points = (parts[at : at + 2] for at in range(0, 12, 2))
    return tuple([  # type: ignore[return-value]
        _linear_of_integers(t, w[k], packed[k], offsets[k], scales[k], zero_points[k], b[k])
        for k, t in enumerate((input, hx))
    ])  # fmt: skip


@published(f"quantized_lstm_cell(Tensor input, Tensor[] hx, {_PARTS})", method=False)
def _quantized_lstm_cell(input: Tensor, hx: Sequence[Tensor], *parts: Any) -> tuple[Tensor, Tensor]:
    """`lstm_cell` with weights of eight bits."""
    of_input, of_state = _gates(input, hx[0], parts)
    i, f, g, o = (of_input + of_state).chunk(4, 1)
    cell = f.sigmoid() * hx[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


@published(f"quantized_gru_cell(Tensor input, Tensor hx, {_PARTS})", method=False)
def _quantized_gru_cell(input: Tensor, hx: Tensor, *parts: Any) -> Tensor:
    """`gru_cell` with weights of eight bits."""
    of_input, of_state = _gates(input, hx, parts)
    (ri, zi, ni), (rh, zh, nh) = of_input.chunk(3, 1), of_state.chunk(3, 1)
    z = (zi + zh).sigmoid()
    n = (ni + (ri + rh).sigmoid() * nh).tanh()
    return (hx - n) * z + n


for _kind in ("relu", "tanh"):
    publish_python(
        f"quantized_rnn_{_kind}_cell(Tensor input, Tensor hx, {_PARTS})",
        lambda input, hx, *parts, _kind=_kind: getattr(sum(_gates(input, hx, parts)), _kind)(),
        method=False,
    )

# ---- layers of quantized tensors


def _declare_max_pool(dims: int) -> None:
    several = f"int[{dims}]"

    def pool(self: Tensor, *window: Any) -> Tensor:
        return rounded(functions[f"max_pool{dims}d"](real(self._array), *window), one_scale(self), self.dtype)

    publish_python(
        f"quantized_max_pool{dims}d(Tensor self, {several} kernel_size, {several} stride=[], {several} padding=0, "
        f"{several} dilation=1, bool ceil_mode=False)",
        pool,
        method=False,
    )


for _dims in (1, 2, 3):
    _declare_max_pool(_dims)


@published(
    "quantized_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, "
    "float output_scale, int output_zero_point)",
    method=False,
)
def _quantized_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float,
    output_scale: float, output_zero_point: int,
) -> Tensor:  # fmt: skip
    """`batch_norm` of a quantized tensor by statistics that are given, in another scale."""
    for name, given in (("Weight", weight), ("Bias", bias)):
        if given is None:
            raise RuntimeError(f"{name} must be provided")
    one_scale(input)
    made = functions["batch_norm"](real(input._array), weight, bias, mean, var, False, 0.0, eps, False)
    return rounded(made, PerTensor(output_scale, output_zero_point), input.dtype)


describe(
    fbgemm_linear_int8_weight="`linear` with weights of eight bits.",
    fbgemm_linear_int8_weight_fp32_activation="`linear` with weights of eight bits.",
    fbgemm_linear_fp16_weight="`linear` with weights that were packed as halves.",
    fbgemm_linear_fp16_weight_fp32_activation="`linear` with weights that were packed as halves.",
    fbgemm_linear_quantize_weight="Weights in eight bits, the sums of their rows, their scale and their zero point.",
    fbgemm_pack_gemm_matrix_fp16="Weights as `fbgemm_linear_fp16_weight` takes them.",
    fbgemm_pack_quantized_matrix="Weights as `fbgemm_linear_int8_weight` takes them.",
    quantized_rnn_relu_cell="`rnn_relu_cell` with weights of eight bits.",
    quantized_rnn_tanh_cell="`rnn_tanh_cell` with weights of eight bits.",
    quantized_max_pool1d="`max_pool1d` of a quantized tensor.",
    quantized_max_pool2d="`max_pool2d` of a quantized tensor.",
    quantized_max_pool3d="`max_pool3d` of a quantized tensor.",
)
