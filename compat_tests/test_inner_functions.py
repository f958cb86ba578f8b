"""Functions under PyTorch's inner names compute what PyTorch's do."""

from __future__ import annotations

import warnings

import pytest

from compat_tests.side_by_side import same_story

CALLS = {
    "add, relu": lambda t, x, i, m: (t._add_relu(x, 2), t._add_relu(x, x, alpha=2)),
    "addmm": lambda t, x, i, m: (t._addmm_activation(x, x, x, beta=0.5, alpha=2), x._addmm_activation(x, x)),
    "addmm, gelu": lambda t, x, i, m: t._addmm_activation(x.double(), x.double(), x.double(), use_gelu=True),
    "int_mm": lambda t, x, i, m: t._int_mm(x.to(t.int8), x.to(t.int8)),
    "int_mm of floats": lambda t, x, i, m: t._int_mm(x, x),
    "int_mm of a vector": lambda t, x, i, m: t._int_mm(x[0].to(t.int8), x.to(t.int8)),
    "int_mm of other sizes": lambda t, x, i, m: t._int_mm(x.to(t.int8), x[:1].to(t.int8)),
    "det": lambda t, x, i, m: tuple(t._linalg_det(x)) + tuple(t._linalg_det(x.t())),
    "slogdet": lambda t, x, i, m: (str(type(t._linalg_slogdet(x)).__name__), tuple(t._linalg_slogdet(x + 1j))),
    "masked softmax": lambda t, x, i, m: (t._masked_softmax(x, m), t._masked_softmax(x, m, 0)),
    "masked softmax of batches": lambda t, x, i, m: t._masked_softmax(t.ones(2, 2, 2, 2), m, 3, 1),
    "masked softmax by numbers": lambda t, x, i, m: t._masked_softmax(x, x),
    "shapes": lambda t, x, i, m: (t._shape_as_tensor(x), t._reshape_from_tensor(x, t.tensor([4]))),
    "unsafe index": lambda t, x, i, m: (t._unsafe_index(x, [i]), t._unsafe_index_put(x, [i], x, True)),
    "index put": lambda t, x, i, m: t._index_put_impl_(x.clone(), [i], x),
    "overlap": lambda t, x, i, m: [
        t._debug_has_internal_overlap(each)
        for each in (x, x[:1].expand(3, 2), x.t(), t.ones(4, 4)[::2], t.ones(8).as_strided((3, 3), (1, 2)), x[:0])
    ],
    "zeros": lambda t, x, i, m: t._efficientzerotensor((2, 3), dtype=t.int8) + x.new_ones(2, 3),
    "rows to starts": lambda t, x, i, m: t._convert_indices_from_coo_to_csr(t.tensor([0, 0, 2]), 3, out_int32=True),
    "starts to rows": lambda t, x, i, m: t._convert_indices_from_csr_to_coo(
        t.tensor([0, 2, 2, 3]), t.tensor([1, 2, 0])
    ),
    "starts to columns": lambda t, x, i, m: t._convert_indices_from_csr_to_coo(
        t.tensor([0, 2, 2, 3]), t.tensor([1, 2, 0]), transpose=True, out_int32=True
    ),
    "unique": lambda t, x, i, m: (t._unique(t.tensor([3, 1, 3]), True, True), t._unique(t.tensor([3, 1, 3]))),
    "batch norm": lambda t, x, i, m: t._batch_norm_impl_index(x, None, None, None, None, True, 0.1, 1e-5, True),
    "batch norm of known statistics": lambda t, x, i, m: t._native_batch_norm_legit_no_training(
        x, None, None, x[0], x[0].abs(), 0.1, 1e-5
    ),
    "rms norm": lambda t, x, i, m: t._fused_rms_norm(x, [2], None, 1e-5),
    "weights in bytes": lambda t, x, i, m: t._weight_int8pack_mm(
        t.ones(2, 4), t.ones(3, 4, dtype=t.int8), t.full((3,), 0.5)
    ),
    "combination": lambda t, x, i, m: t._compute_linear_combination(x, t.ones(3, 2)),
    "attention": lambda t, x, i, m: [
        t._scaled_dot_product_attention_math(x[None], x[None], x[None], **how)
        for how in ({}, {"is_causal": True, "scale": 0.5}, {"attn_mask": m}, {"attn_mask": x})
    ],
    "queries": lambda t, x, i, m: t._transform_bias_rescale_qkv(t.arange(12.0).reshape(1, 2, 6), t.ones(6), 2),
    "convolution": lambda t, x, i, m: t._convolution_mode(t.ones(1, 1, 3), t.ones(1, 1, 3), None, [1], "same", [1], 1),
    "convolution padded by a word": lambda t, x, i, m: t._convolution_mode(
        t.ones(1, 1, 3), t.ones(1, 1, 3), None, [1], "foo", [1], 1
    ),
    "scalar": lambda t, x, i, m: (t._assert_scalar(True, "no"), t._assert_scalar(0, "no")),
    "sizes": lambda t, x, i, m: t._assert_tensor_metadata(x, [2, 3]),
    "strides": lambda t, x, i, m: t._assert_tensor_metadata(x, [2, 2], [1, 2]),
    "device": lambda t, x, i, m: t._assert_tensor_metadata(x, dtype=t.float32, device="meta"),
    "scale that grows": lambda t, x, i, m: t._amp_update_scale_(
        t.tensor(4.0), t.tensor(1, dtype=t.int32), t.tensor(0.0), 2.0, 0.5, 2
    ),
    "scale that shrinks": lambda t, x, i, m: t._amp_update_scale_(
        t.tensor(4.0), t.tensor(1, dtype=t.int32), t.tensor(1.0), 2.0, 0.5, 2
    ),
    "numbers": lambda t, x, i, m: (
        t._dim_arange(x, 1), t._stack([x, x], 1), t._logcumsumexp(x, 1),
        t._test_serialization_subcmul(x, x, 2), t._to_cpu([x]), t._has_compatible_shallow_copy_type(x, x),
    ),
    "copies of views": lambda t, x, i, m: (t._neg_view_copy(x), t._conj_copy(x + 1j), t._conj_physical(x + 1j)),
    "operators": lambda t, x, i, m: (t.ops.aten._unsafe_index(x, [i]), t.ops.aten._stack([x, x])),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_inner_function(name: str) -> None:
    @same_story
    def program(torch, tell):
        x = torch.tensor([[1.0, -2.0], [3.0, 0.5]])
        tell(CALLS[name](torch, x, torch.tensor([1, 0]), torch.tensor([[True, False], [False, False]])))

    program()


@same_story
def test_both_extremes(torch, tell):
    x = torch.tensor([[1.0, -2.0], [3.0, 0.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its age, once in a process
        tell(torch._aminmax(x), torch._aminmax(x, 0), torch._aminmax(x, 1, True))


@same_story
def test_weights_beyond_a_half(torch, tell):
    for weight in ([[1.0, -2.0]], [[-1e6], [1e6]]):
        tell(torch._saturate_weight_to_fp16(torch.tensor(weight)))


@same_story
def test_running_extremes(torch, tell):
    x = torch.tensor([[1.0, -2.0], [3.0, 0.5]])
    for f in (torch._cummax_helper, torch._cummin_helper):
        values, indices = torch.empty(2, 2), torch.empty(2, 2, dtype=torch.int64)
        tell(f(x, values, indices, 0), values, indices)
