"""What libraries of kernels are asked for by name: cuDNN's functions are general ones on CUDA, MIOpen's are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.declare import Signature, describe, publish_python, published
from ...core.machine import Tensor, functions, tensors_in
from ...core.values import dt, missing_kernel_of


def _only_on_cuda(schema: str, f: Callable[..., Any]) -> None:
    """Publish a function that PyTorch has on CUDA alone."""
    name = Signature(schema).name

    def call(*values: Any) -> Any:
        backend = tensors_in(values)[0]._backend
        if backend.device.type != "cuda":
            raise missing_kernel_of(name, backend)
        return f(*values)

    publish_python(schema, call, method=False)


# ---- cuDNN

_SLIDING = "int[] padding, int[] stride, int[] dilation, int groups"
_BACK = "int[] padding, int[] output_padding, int[] stride, int[] dilation, int groups"
_FUSED = "Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups"
_NORM = (
    "Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float exponential_average_factor, float epsilon"
)


def _convolved(
    self: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int,
    output_padding: Any = None,
) -> Tensor:  # fmt: skip
    """A convolution; a transposed one if it has an `output_padding`."""
    transposed = output_padding is not None
    back = output_padding if transposed else (0,) * len(stride)
    return functions["convolution"](self, weight, bias, stride, padding, dilation, transposed, back, groups)


def _added(
    self: Tensor, weight: Tensor, z: Tensor, alpha: Any, bias: Tensor | None, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Tensor:  # fmt: skip
    made = _convolved(self, weight, bias, stride, padding, dilation, groups)
    return functions["add"](made, z, alpha=1 if alpha is None else alpha).relu()


def _normalized(*values: Any) -> tuple[Tensor, ...]:
    """`native_batch_norm`, and memory for the backward pass of a library, of which none is needed."""
    made = functions["native_batch_norm"](*values)
    return *made, values[0].new_empty(0, dtype=dt.uint8)


_only_on_cuda(
    f"cudnn_convolution(Tensor self, Tensor weight, {_SLIDING}, bool benchmark, bool deterministic, bool allow_tf32)",
    lambda self, weight, padding, stride, dilation, groups, *_: _convolved(
        self, weight, None, stride, padding, dilation, groups
    ),
)
_only_on_cuda(
    f"cudnn_convolution_transpose(Tensor self, Tensor weight, {_BACK}, bool benchmark, bool deterministic, "
    "bool allow_tf32)",
    lambda self, weight, padding, output_padding, stride, dilation, groups, *_: _convolved(
        self, weight, None, stride, padding, dilation, groups, output_padding
    ),
)
_only_on_cuda(
    f"cudnn_convolution_relu(Tensor self, Tensor weight, {_FUSED})", lambda *values: _convolved(*values).relu()
)
_only_on_cuda(f"cudnn_convolution_add_relu(Tensor self, Tensor weight, Tensor z, Scalar? alpha, {_FUSED})", _added)
_only_on_cuda(f"cudnn_batch_norm({_NORM})", _normalized)
_only_on_cuda(
    "cudnn_affine_grid_generator(Tensor theta, int N, int C, int H, int W)",
    lambda theta, *size: functions["affine_grid_generator"](theta, size, True),
)
_only_on_cuda(
    "cudnn_grid_sampler(Tensor self, Tensor grid)",
    lambda self, grid: functions["grid_sampler_2d"](self, grid, 0, 0, True),
)


@published("cudnn_is_acceptable(Tensor self)", method=False)
def _cudnn_is_acceptable(self: Tensor) -> bool:
    """Whether cuDNN would be used for this tensor: it never is."""
    return False


# ---- MIOpen, of which there is nothing without ROCm


def _without_miopen(schema: str) -> None:
    name = Signature(schema).name

    def refuse(*_: Any) -> Any:
        raise RuntimeError(f"{name}: ATen not compiled with MIOpen support")

    _only_on_cuda(schema, refuse)


_TUNED = "bool benchmark, bool deterministic"
for _schema in (
    f"miopen_batch_norm({_NORM})",
    f"miopen_convolution(Tensor self, Tensor weight, Tensor? bias, {_SLIDING}, {_TUNED})",
    f"miopen_convolution_transpose(Tensor self, Tensor weight, Tensor? bias, {_BACK}, {_TUNED})",
    f"miopen_depthwise_convolution(Tensor self, Tensor weight, Tensor? bias, {_SLIDING}, {_TUNED})",
    f"miopen_convolution_relu(Tensor self, Tensor weight, {_FUSED})",
    f"miopen_convolution_add_relu(Tensor self, Tensor weight, Tensor z, Scalar? alpha, {_FUSED})",
    "miopen_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, "
    "bool deterministic, bool zero_infinity)",
    "miopen_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor hx, Tensor? cx, int mode, int hidden_size, "
    "int num_layers, bool batch_first, float dropout, bool train, bool bidirectional, int[] batch_sizes, "
    "Tensor? dropout_state)",
):
    _without_miopen(_schema)

# ---- oneDNN, on tensors of the usual layout

publish_python(
    f"mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, {_SLIDING})",
    lambda self, weight, bias, padding, stride, dilation, groups: _convolved(
        self, weight, bias, stride, padding, dilation, groups
    ),
    method=False,
)


# ---- batch norm over several processes, in parts


def _dims(input: Tensor) -> list[int]:
    """The dimensions that are normalized together."""
    return [0, *range(2, input.dim())]


def _per_channel(values: Any, input: Tensor) -> Any:
    """A vector of channels as it broadcasts over an input."""
    return None if values is None else values.reshape(-1, *[1] * (input.dim() - 2))


def _statistics(input: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel, in float32 at least."""
    wide = input.float() if input.dtype in dt.HALVES else input
    var, mean = functions["var_mean"](wide, _dims(input), correction=0)
    return mean, var


def _follow(
    running_mean: Tensor | None, running_var: Tensor | None, momentum: float, mean: Tensor, var: Tensor, count: Any
) -> None:
    """Bring running statistics up to date with those of so many elements."""
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean * momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(var * (count / (count - 1)) * momentum)


@published(
    "batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum)", method=False
)
def _batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel, by which running statistics are brought up to date."""
    mean, var = _statistics(input)
    _follow(running_mean, running_var, momentum, mean, var, input.numel() // input.shape[1])
    return mean, var


def _stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    mean, var = _statistics(input)
    return mean, (var + eps).rsqrt()


def _elements(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    mean, invstd, weight, bias = (_per_channel(v, input) for v in (mean, invstd, weight, bias))
    made = (input - mean) * invstd
    made = made if weight is None else made * weight
    return (made if bias is None else made + bias).to(input.dtype)


def _gathered(
    input: Tensor, mean: Tensor, invstd: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    momentum: float, eps: float, counts: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The statistics of all processes, a row from each, of so many elements."""
    if not isinstance(counts, Tensor):
        counts = mean.new_full(mean.shape[:1], counts)
    counts = counts.reshape(-1, 1).to(mean.dtype)
    count = counts.sum()
    whole = (mean * counts).sum(0) / count
    var = ((invstd**-2 - eps + (mean - whole) ** 2) * counts).sum(0) / count
    _follow(running_mean, running_var, momentum, whole, var, count)
    return whole, (var + eps).rsqrt()


def _reduced(
    grad_out: Tensor, input: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor | None, input_g: bool, weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    sum_dy = grad_out.sum(_dims(input), dtype=mean.dtype)
    sum_dy_xmu = (grad_out * (input - _per_channel(mean, input))).sum(_dims(input), dtype=mean.dtype)
    kind = mean.dtype if weight is None else weight.dtype
    sums = (sum_dy, sum_dy_xmu) if input_g else (None, None)
    return *sums, (sum_dy_xmu * invstd).to(kind) if weight_g else None, sum_dy.to(kind) if bias_g else None


def _backward_of_elements(
    grad_out: Tensor, input: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor | None, sum_dy: Tensor,
    sum_dy_xmu: Tensor, count: Tensor,
) -> Tensor:  # fmt: skip
    n = count.sum()
    mean, invstd, weight, by_bias, by_weight = (
        _per_channel(v, input) for v in (mean, invstd, weight, sum_dy / n, sum_dy_xmu / n)
    )
    made = (grad_out - by_bias - (input - mean) * (invstd * invstd * by_weight)) * invstd
    return (made if weight is None else made * weight).to(input.dtype)


_RUNNING = "Tensor? running_mean, Tensor? running_var, float momentum, float eps"
_GIVEN = "Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight"
_only_on_cuda("batch_norm_stats(Tensor input, float eps)", _stats)
_only_on_cuda(
    "batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float eps)", _elements
)
_only_on_cuda(f"batch_norm_gather_stats(Tensor input, Tensor mean, Tensor invstd, {_RUNNING}, int count)", _gathered)
_only_on_cuda(
    f"batch_norm_gather_stats_with_counts(Tensor input, Tensor mean, Tensor invstd, {_RUNNING}, Tensor counts)",
    _gathered,
)
_only_on_cuda(f"batch_norm_backward_reduce({_GIVEN}, bool input_g, bool weight_g, bool bias_g)", _reduced)
_only_on_cuda(
    f"batch_norm_backward_elemt({_GIVEN}, Tensor sum_dy, Tensor sum_dy_xmu, Tensor count)", _backward_of_elements
)

describe(
    cudnn_convolution="`convolution` on CUDA.", cudnn_convolution_transpose="A transposed `convolution` on CUDA.",
    cudnn_convolution_relu="`convolution` on CUDA, and `relu` of it.",
    cudnn_convolution_add_relu="`relu` of a `convolution` on CUDA with `alpha * z` added.",
    cudnn_batch_norm="`native_batch_norm` on CUDA.",
    cudnn_affine_grid_generator="`affine_grid_generator` on CUDA, with corners aligned.",
    cudnn_grid_sampler="`grid_sampler_2d` on CUDA: bilinear, zeros outside, with corners aligned.",
    mkldnn_convolution="`convolution`.", batch_norm_stats="Mean of each channel, and one over its deviation, on CUDA.",
    batch_norm_elemt="What is normalized by statistics that are given, on CUDA.",
    batch_norm_gather_stats="The statistics of the whole from those of parts of `count` elements each, on CUDA.",
    batch_norm_gather_stats_with_counts="The statistics of the whole from those of parts, on CUDA.",
    batch_norm_backward_reduce="The sums of which the gradients of a batch norm are made, on CUDA.",
    batch_norm_backward_elemt="The gradient of a batch norm's input from the sums of all processes, on CUDA.",
    **{
        f"miopen_{_name}": "A function of MIOpen, which there is on ROCm alone."
        for _name in (
            "batch_norm", "convolution", "convolution_transpose", "depthwise_convolution", "convolution_relu",
            "convolution_add_relu", "ctc_loss", "rnn",
        )
    },
)  # fmt: skip
