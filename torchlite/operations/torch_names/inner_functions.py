"""Functions that PyTorch's public ones are made of there, and that some programs call by these inner names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Composite, publish, publish_python, published
from ...core.machine import Tensor, wrap
from ...core.machine.registry import functions as F
from ...core.machine.registry import registry
from ...core.values import dt, is_dense, warn, warn_once
from ...kernels import sparse as kernels
from ..places.advanced_indexing import index
from ..products.attention_shown import weighed


def _inner(schema: str, f: Callable[..., Any], **more: Any) -> None:
    publish_python(schema, f, method=False, **more)


# ---- of numbers

_inner(
    "_add_relu(Tensor self, any other, *, Scalar alpha=1)",
    lambda self, other, alpha: self.add(other, alpha=alpha).relu(),
)
_inner("_conj_copy(Tensor self)", lambda self: self.conj().resolve_conj().clone())
_inner("_conj_physical(Tensor self)", lambda self: self.conj_physical())
_inner(
    "_efficientzerotensor(int[] size, *, ScalarType? dtype=None, Device? device=None)",
    lambda size, dtype, device: F["zeros"](size, dtype=dtype, device=device),
)
_inner("_dim_arange(Tensor like, int dim)", lambda like, dim: F["arange"](like.shape[dim], device=like.device))
_inner("_logcumsumexp(Tensor self, int dim)", lambda self, dim: self.logcumsumexp(dim))
_inner("_neg_view_copy(Tensor self)", lambda self: self.neg())
_inner("_stack(Tensor[] tensors, int dim=0)", lambda tensors, dim: F["stack"](tensors, dim))
_inner(
    "_test_serialization_subcmul(Tensor self, Tensor other, Scalar alpha=1)",
    lambda self, other, alpha: self - other * alpha,
)


@published("_saturate_weight_to_fp16(Tensor weight)", method=False)
def _saturate_weight_to_fp16(weight: Tensor) -> Tensor:
    """What is beyond the numbers of float16 becomes the last of them."""
    if (weight.abs() > 65504).any():
        warn("FOUND weight out of range ")
    return weight.clamp(-65504, 65504)


def _aminmax(self: Tensor, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    warn_once(
        "_aminmax is deprecated as of PyTorch 1.11 and will be removed in a future release. Use aminmax instead. This "
        "warning will only appear once per process."
    )
    low, high = self.aminmax(dim=dim, keepdim=keepdim)
    return low, high


publish(
    Composite("_aminmax(Tensor self)", _aminmax),
    Composite("_aminmax.dim(Tensor self, int dim, bool keepdim=False)", _aminmax),
    method=False,
)


@published("_unique(Tensor self, bool sorted=True, bool return_inverse=False)", method=False)
def _unique(self: Tensor, sorted: bool, return_inverse: bool) -> tuple[Tensor, Tensor]:
    """The values that there are; and where in them each element is, if that is asked for."""
    if return_inverse:
        return self.unique(sorted, True)
    return self.unique(sorted), self.new_empty(0, dtype=dt.int64)


def _running(name: str) -> None:
    def run(self: Tensor, values: Tensor, indices: Tensor, dim: int) -> None:
        F[name](self, dim, out=(values, indices))

    _inner(f"_{name}_helper(Tensor self, Tensor values, Tensor indices, int dim)", run)


_running("cummax")
_running("cummin")


@published("_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None)", method=False)
def _masked_softmax(self: Tensor, mask: Tensor, dim: int | None, mask_type: int | None) -> Tensor:
    """`softmax` of what is not masked: for attention, so that a mask of batches and keys is spread over heads."""
    if mask.dtype is not dt.bool_:
        raise RuntimeError("Mask should be a boolean tensor")
    if mask_type == 1 and mask.ndim == 2 and self.ndim == 4:
        mask = mask[:, None, None, :]
    return self.masked_fill(mask, -float("inf")).softmax(-1 if dim is None else dim)


# ---- products


@published(
    "_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False)"
)
def _addmm_activation(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any, use_gelu: bool) -> Tensor:
    """`relu` or `gelu` of `addmm`."""
    made = self.addmm(mat1, mat2, beta=beta, alpha=alpha)
    return registry["gelu"].apply(made, "none") if use_gelu else made.relu()


@published("_int_mm(Tensor self, Tensor mat2)", method=False)
def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of matrices of 8-bit integers, in 32 bits."""
    for name, t in (("self", self), ("mat2", mat2)):
        if t.ndim != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {t.ndim}")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {self.shape[1]} and {mat2.shape[0]}"
        )
    for name, t in (("self", self), ("mat2", mat2)):
        if t.dtype not in (dt.int8, dt.uint8):
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} dtype to be int8 or uint8 but got {t.dtype.cname}")
    return self.int() @ mat2.int()


@published(
    "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None)",
    method=False,
)
def _grouped_mm(
    self: Tensor, mat2: Tensor, offs: Tensor | None, bias: Tensor | None, out_dtype: dt.dtype | None
) -> Tensor:
    """`torch.nn.functional.grouped_mm`."""
    from ...nn.functional import grouped_mm

    return grouped_mm(self, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


_inner(
    "_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales)",
    lambda self, mat2, scales: self @ mat2.to(self.dtype).t() * scales,
)
_inner(
    "_compute_linear_combination(Tensor input, Tensor coefficients)",
    lambda input, coefficients: F["tensordot"](coefficients, input, 1),
)


@published("_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads)", method=False)
def _transform_bias_rescale_qkv(qkv: Tensor, qkv_bias: Tensor, num_heads: int) -> tuple[Tensor, ...]:
    """Queries, keys and values of each head; queries are divided by the root of how long they are."""
    batch, length, size = qkv.shape
    heads = (qkv + qkv_bias).reshape(batch, length, 3, num_heads, size // 3 // num_heads).permute(2, 0, 3, 1, 4)
    query, key, value = heads.contiguous()
    return query / query.shape[-1] ** 0.5, key, value


@published(
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False)",
    method=False,
)
def _scaled_dot_product_attention_math(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool,
    dropout_mask: Tensor | None, scale: float | None, enable_gqa: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Attention, and its weights."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key, value = (t.repeat_interleave(query.shape[-3] // t.shape[-3], -3) for t in (key, value))
    weights = weighed(query, key, attn_mask, is_causal, scale, cast=False)
    if dropout_mask is not None:
        return weights.masked_fill(~dropout_mask, 0) @ (value / (1 - dropout_p)), weights
    return F["dropout"](weights, dropout_p, True) @ value, weights


# ---- layers


_PARAMETERS = "Tensor input, Tensor? weight, Tensor? bias"
_inner(
    f"_native_batch_norm_legit_no_training({_PARAMETERS}, Tensor running_mean, Tensor running_var, float momentum, "
    "float eps)",
    lambda input, weight, bias, mean, var, *step: F["native_batch_norm"](input, weight, bias, mean, var, False, *step),
)


@published(
    f"_batch_norm_impl_index({_PARAMETERS}, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
    "float eps, bool cudnn_enabled)",
    method=False,
)
def _batch_norm_impl_index(*given: Any) -> tuple[Any, ...]:
    """`native_batch_norm`, the memory of a library, and which one it was: none."""
    return (*F["native_batch_norm"](*given[:-1]), given[0].new_empty(0, dtype=dt.uint8), 0)


@published("_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps)", method=False)
def _fused_rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """`rms_norm`, and what elements were multiplied by."""
    dims = tuple(range(-len(normalized_shape), 0))
    least = dt.finfo(input.dtype).eps if eps is None else eps
    scale = input.square().mean(dims, keepdim=True).add(least).rsqrt()
    return F["rms_norm"](input, normalized_shape, weight, eps), scale


_inner(
    f"_convolution_mode({_PARAMETERS}, int[] stride, str padding, int[] dilation, int groups)",
    lambda input, weight, bias, stride, padding, dilation, groups: F[f"conv{input.ndim - 2}d"](
        input, weight, bias, stride, padding, dilation, groups
    ),
)


@published(
    "_amp_update_scale_(Tensor self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, "
    "float scale_backoff_factor, int growth_interval)",
    method=False,
)
def _amp_update_scale_(
    self: Tensor, growth_tracker: Tensor, found_inf: Tensor, scale_growth_factor: float, scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:  # fmt: skip
    """The next scale of losses: less after an overflow, more after so many steps without one."""
    from ...amp.grad_scaler import adapt

    overflowed = bool(found_inf.item())
    adapt(self, growth_tracker, overflowed, scale_growth_factor, scale_backoff_factor, growth_interval)
    return self


# ---- places of compressed rows


@published("_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False)", method=False)
def _convert_indices_from_coo_to_csr(self: Tensor, size: int, out_int32: bool) -> Tensor:
    """Where each row starts, of sorted rows."""
    found = kernels.pointers(self._backend.home.xp, self._array, size)
    return wrap(found, dt.int64, self._backend.home).to(dt.int32 if out_int32 else dt.int64)


@published(
    "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, "
    "bool transpose=False)",
    method=False,
)
def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, out_int32: bool, transpose: bool
) -> Tensor:
    """The row and the column of each element."""
    backend = crow_indices._backend.home
    rows = wrap(kernels.rows_of(backend.xp, crow_indices._array, len(col_indices)), dt.int64, backend)
    places = (col_indices, rows) if transpose else (rows, col_indices)
    return F["stack"]([each.to(dt.int32 if out_int32 else dt.int64) for each in places])


# ---- places

_inner("_unsafe_index(Tensor self, any indices)", lambda self, indices: index.apply(self, indices))
_inner(
    "_unsafe_index_put(Tensor self, any indices, Tensor values, bool accumulate=False)",
    lambda self, indices, values, accumulate: F["index_put"](self, indices, values, accumulate),
)
_inner(
    "_index_put_impl_(Tensor self, any indices, Tensor values, bool accumulate=False, bool unsafe=False)",
    lambda self, indices, values, accumulate, unsafe: self.index_put_(indices, values, accumulate),
)


_inner("_shape_as_tensor(Tensor self)", lambda self: F["tensor"](self.shape))
_inner("_reshape_from_tensor(Tensor self, Tensor shape)", lambda self, shape: self.reshape(shape.tolist()))


@published("_debug_has_internal_overlap(Tensor self)", method=False)
def _debug_has_internal_overlap(self: Tensor) -> int:
    """Whether elements share a place in memory: 0 is no, 1 is yes, 2 is that strides don't tell."""
    steps = [stride for stride, size in zip(self.stride(), self.shape) if size > 1]
    if not self.numel() or is_dense(tuple(self.shape), tuple(self.stride())):
        return 0
    return 1 if 0 in steps else 2


# ---- what is checked


@published("_assert_scalar(Scalar self, str assert_msg)", method=False)
def _assert_scalar(self: Any, assert_msg: str) -> None:
    """Raise where a number is zero."""
    if not self:
        raise RuntimeError(assert_msg)


@published(
    "_assert_tensor_metadata(Tensor a, int[]? size=None, int[]? stride=None, ScalarType? dtype=None, *, "
    "Device? device=None, Layout? layout=None)",
    method=False,
)
def _assert_tensor_metadata(
    a: Tensor, size: Sequence[int] | None, stride: Sequence[int] | None, dtype: dt.dtype | None, device: Any,
    layout: Any,
) -> None:  # fmt: skip
    """Raise where a tensor is not what was expected."""
    for what, expected, got in (
        ("sizes", size and list(size), list(a.shape)), ("strides", stride and list(stride), list(a.stride())),
        ("dtype", dtype, a.dtype), ("device", device, a.device), ("layout", layout, a.layout),
    ):  # fmt: skip
        if expected is not None and expected != got:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {expected}, Got: {got}")


_inner("_to_cpu(Tensor[] tensors)", lambda tensors: tuple(t.cpu() for t in tensors))
_inner("_has_compatible_shallow_copy_type(Tensor self, Tensor from_)", lambda self, other: self.layout is other.layout)
