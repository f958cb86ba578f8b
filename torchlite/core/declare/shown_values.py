"""Which plain values a node shows as `_saved_*`, where that is not what its derivatives name.

By default a node shows the arguments that its derivatives name, and `self_sym_sizes` where they name `self_shape`; a
reduction also shows along which dimensions it went. The other ops are listed here by name.
"""

from __future__ import annotations

_AS_STRIDED = "size stride storage_offset"

SHOWN = {
    name: tuple(shown.split())
    for name, shown in {
        "_softmax_backward_data": "dim",
        "addbmm": "alpha beta batch1_sym_argsize_0 batch1_sym_argsize_1 batch2_sym_argsize_2",
        "addmm": "alpha beta mat1_sym_sizes mat2_sym_sizes",
        "addmv": "alpha beta",
        "addr": "alpha beta",
        "as_strided": _AS_STRIDED,
        "as_strided_copy": _AS_STRIDED,
        "as_strided_scatter": _AS_STRIDED,
        "baddbmm": "alpha beta",
        "block_diag": "",
        "cat": "dim",
        "convolution": "bias_sym_sizes_opt dilation groups output_padding padding stride transposed",
        "copy": "",
        "diagonal_scatter": "offset dim1 dim2",
        "div.rounding_mode": "rounding_mode",
        "embedding": "padding_idx scale_grad_by_freq sparse weight_sym_argsize_0",
        "gather": "dim sparse_grad",
        "im2col": "dilation kernel_size padding self_sym_argsize_minus_1 self_sym_argsize_minus_2 stride",
        "index_add": "alpha dim source_dim",
        "index_copy": "dim source_dim",
        "index_put": "accumulate",
        "linalg_cross": "dim",
        "masked_fill.Scalar": "",
        "masked_fill.Tensor": "",
        "masked_scatter": "source_sym_sizes",
        "mean": "self_sym_numel self_sym_sizes",
        "mean.dim": "dim keepdim self_sym_numel self_sym_sizes",
        "mm": "mat2_sym_sizes self_sym_sizes",
        "normal.Tensor_Tensor": "mean_sym_sizes std_sym_sizes",
        "pow.Tensor_Scalar": "exponent",
        "select_scatter": "dim index",
        "slice_scatter": "dim start end step",
        "squeeze.dim": "dim self_sym_sizes",
        "squeeze.dims": "dim self_sym_sizes",
        "squeeze_.dim": "dim self_sym_sizes",
        "squeeze_.dims": "dim self_sym_sizes",
        "squeeze_copy.dim": "dim self_sym_sizes",
        "squeeze_copy.dims": "dim self_sym_sizes",
        "sum": "self_sym_sizes",
        "sum.dim_IntList": "dim keepdim self_sym_sizes",
    }.items()
}
