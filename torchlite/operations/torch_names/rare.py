"""Which ops take complex32, floats of 8 bits and wide unsigned integers, as in PyTorch, and their kernels' names."""

from __future__ import annotations

from ...core.declare import Along, Elementwise
from ...core.machine import TensorBase
from ...core.machine.rare import computed_wide, idle, kernel_names, lacking
from ...core.machine.registry import registry
from ...core.values import dt

# The ops on elements and along dimensions that take complex32.
_TAKE_HALF_COMPLEX = """
    abs add add.Scalar addcmul all all.dim all.dims any any.dim any.dims complex conj_physical conj_physical.in_place
    count_nonzero count_nonzero.dim_IntList eq fill.Scalar fill.Tensor isclose isfinite isinf isnan isreal
    linalg_vector_norm masked_fill.Scalar masked_fill.Tensor mul mul.Scalar ne neg norm.ScalarOpt_dim normal rsub sgn
    std.correction std_mean.correction sub uniform var.correction var_mean.correction where
"""
# The ops along dimensions, and of those named below, that take types of 8 bits: all elementwise ones say it themselves.
_TAKE_EIGHT_BITS = "all all.dim all.dims any any.dim any.dims"
_TAKE_SIGNED_EIGHT_BITS = "_linear _linear.bias addbmm addmm index_put mm"
# What other ops do not take complex32: their kernels are named like them, or with an ending, or otherwise.
_NAMED_ALIKE = """
    baddbmm bmm dot exp2 masked_scatter max_unpool2d max_unpool3d nan_to_num pixel_shuffle pixel_unshuffle
    channel_shuffle reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d
    replication_pad3d trace vdot
"""
_ENDINGS = {
    "_vml_cpu": "acos asin atan cos erf erfc erfinv exp expm1 i0 log log10 log1p log2 round sin sqrt tan tanh",
    "_out_cpu": "cumprod cumsum logcumsumexp",
    "_cpu": "addr flip take",
    "_all": "max min",
}
_OTHERWISE = {
    "addmm_impl_cpu_": "mm addmm addbmm _linear _linear.bias",
    "addmv_impl_cpu": "mv addmv",
    "bmm": "_trilinear.rows linalg_matrix_exp _scaled_dot_product_attention",
    "channel_shuffle": "native_channel_shuffle",
    "cholesky_inverse_out_cpu": "_cholesky_inverse",
    "cholesky_solve_cpu": "_cholesky_solve",
    "cross": "linalg_cross",
    "flip_cpu": "rot90",
    "index_func_": "index_reduce",
    "exp_vml_cpu": "logsumexp",
    "isin_default_cpu": "isin isin.Scalar",
    "ldl_solve_kernel_cpu": "_linalg_ldl_solve",
    "linalg_eig_out_cpu": "linalg_eig _linalg_eigvals",
    "max_values_cpu": "amax",
    "median_cpu": "median nanmedian",
    "median_out": "median.dim nanmedian.dim",
    "min_values_cpu": "amin",
    "pow": "ldexp",
    "prod_out_cpu": "prod prod.dim_int",
    "scatter_gather_scalar_cpu": "scatter.value scatter.value_reduce _lu_unpack",
    "scatter_gather_tensor_cpu": "gather scatter.src scatter_add scatter.reduce scatter_reduce.two",
    "sum_cpu": "sum sum.dim_IntList mean mean.dim",
    "take_put_cpu": "put",
    "triangular_solve_cpu": "_triangular_solve _linalg_solve_triangular",
    "unique": "_unique2 unique_dim unique_consecutive",
}
# Those that take complex32, and no types of 8 bits.
_NOT_OF_EIGHT_BITS = {
    "add_stub": "add add.Scalar dist rsub sub",
    "clamp_min_scalar_cpu": "relu",
    "clamp_scalar_cpu": "clamp hardtanh",
    "index_add_": "index_add",
    "index_copy_cpu": "index_copy",
    "index_put": "index_put",
    "index_fill_cpu": "index_fill.int_Scalar index_fill.int_Tensor",
    "isfinite": "isfinite",
    "isinf": "isinf",
    "masked_fill": "masked_fill.Scalar masked_fill.Tensor",
    "nonzero_count_cpu": "argwhere count_nonzero count_nonzero.dim_IntList nonzero",
    "norm_cpu": "linalg_vector_norm",
    "std_cpu": "std.correction std_mean.correction var.correction var_mean.correction",
    "tril": "tril",
    "triu": "triu",
    "xor_sum_cpu": "hash_tensor",
}
# The ops that are not elementwise and take no unsigned integers wider than 8 bits.
_NOT_UNSIGNED = """
    _linear _linear.bias _trilinear _trilinear.rows addbmm addmm addmv addr amax amin aminmax argmax argmin argwhere
    baddbmm bincount bmm count_nonzero count_nonzero.dim_IntList cummax cummin dot flip gather hash_tensor index_add
    index_copy index_fill.int_Scalar index_fill.int_Tensor index_put index_select isin linalg_cross masked_fill.Scalar
    masked_fill.Tensor masked_scatter masked_select max max.dim median median.dim min min.dim mm mode mv nanmedian
    nanmedian.dim nonzero nonzero_static put reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
    replication_pad2d replication_pad3d rot90 scatter.reduce scatter.src scatter.value scatter.value_reduce scatter_add
    scatter_reduce.two take trace tril triu vdot
"""


def _listed(table: dict[str, str]) -> dict[str, str]:
    return {name: kernel for kernel, names in table.items() for name in names.split()}


_families = {name: getattr(op, "label", "") or f"{op.signature.name}_cpu" for name, op in registry.items()
             if isinstance(op, (Elementwise, Along))}  # fmt: skip
_others = {name: name for name in _NAMED_ALIKE.split()} | {
    name: name + ending for ending, names in _ENDINGS.items() for name in names.split()
} | _listed(_OTHERWISE)  # fmt: skip
kernel_names.update(_families | _others | _listed(_NOT_OF_EIGHT_BITS))
lacking[dt.complex32] = frozenset(_families.keys() | _others) - {*_TAKE_HALF_COMPLEX.split()}
lacking[dt.float8_e8m0fnu] = frozenset(kernel_names) - {*_TAKE_EIGHT_BITS.split()}
_signed = lacking[dt.float8_e8m0fnu] - {*_TAKE_SIGNED_EIGHT_BITS.split()}
lacking.update(dict.fromkeys(dt.EIGHT_BITS - {dt.float8_e8m0fnu}, _signed))
kernel_names |= {"bincount": "bincount_cpu", "masked_select": "masked_select"}
kernel_names |= {"index_select": "index_select", "nonzero_static": "nonzero_count_cpu"}
lacking.update(dict.fromkeys(dt.UNSIGNED, frozenset(_NOT_UNSIGNED.split())))
# What moves no elements, or only rows of them, needs no kernel.
idle.update(dict.fromkeys(("gather", "scatter.src", "scatter.value"), lambda self, dim, index, *_: not index.numel()))
idle.update(dict.fromkeys(("put", "take"), lambda self, index, *_: not index.numel()))
idle.update(dict.fromkeys(("cummax", "cummin", "cumprod", "cumsum", "mode"), lambda self, *_: not self.dim()))
idle.update(dict.fromkeys(("channel_shuffle", "pixel_shuffle"), lambda self, _: not self.numel()))
idle["linalg_matrix_exp"] = lambda self: not self.numel()
idle.update(dict.fromkeys(("_linear", "bmm", "mm", "mv"), lambda a, b: not a.numel() or not b.numel()))
idle["_linear.bias"] = lambda a, b, _: not a.numel() or not b.numel()
idle.update(dict.fromkeys(("addmm", "addmv", "baddbmm"), lambda _, a, b, *more: not a.numel() or not b.numel()))
idle["index_put"] = lambda self, indices, values, *_: values.dtype is not self.dtype  # which is refused otherwise
idle["isin"] = lambda elements, test_elements, *_: not isinstance(test_elements, TensorBase)
idle["rot90"] = lambda self, k, dims: idle["flip"](self, ((), dims[1:], dims, dims[:1])[k % 4])
idle["index_select"] = lambda self, *_: self.dim() > 1
idle["count_nonzero.dim_IntList"] = lambda self, dim: len(dim) > 0
idle["count_nonzero"] = lambda self, dim: dim is not None  # which is counted by the overload of several
idle["flip"] = lambda self, dims: not any(self.shape[d] > 1 for d in dims if self.dim() - 1 in (d, d + self.dim()))
computed_wide.update(("_linear", "_linear.bias", "addmm", "addmv", "baddbmm", "bmm", "mm", "mv"))
computed_wide.update(("convolution", "convolution_backward", "index_add"))
