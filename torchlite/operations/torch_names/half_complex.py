"""Which ops take complex32, as PyTorch's kernels on the CPU do; what errors call the kernels that there are none of."""

from __future__ import annotations

from ...core.declare import Elementwise
from ...core.declare.reduction import Along
from ...core.machine.half_complex import computed_wide, idle, no_kernel
from ...core.machine.registry import registry

# The ops on elements and along dimensions that take it.
_TAKEN = """
    abs add add.Scalar addcmul all all.dim all.dims any any.dim any.dims complex conj_physical conj_physical.in_place
    count_nonzero count_nonzero.dim_IntList eq fill.Scalar fill.Tensor isclose isfinite isinf isnan isreal
    linalg_vector_norm masked_fill.Scalar masked_fill.Tensor mul mul.Scalar ne neg normal rsub sgn std.correction
    std_mean.correction sub uniform var.correction var_mean.correction where
"""
# Of all others, what does not take it: whose kernels are named like the ops, or with an ending, or otherwise.
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
    "bmm": "_trilinear _scaled_dot_product_attention",
    "channel_shuffle": "native_channel_shuffle",
    "cholesky_inverse_out_cpu": "_cholesky_inverse",
    "cholesky_solve_cpu": "_cholesky_solve",
    "cross": "linalg_cross",
    "index_func_": "index_reduce",
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

_taken = frozenset(_TAKEN.split())
for _name, _op in registry.items():
    if isinstance(_op, (Elementwise, Along)) and _name not in _taken:
        no_kernel[_name] = getattr(_op, "label", f"{_op.signature.name}_cpu")
no_kernel.update({name: name for name in _NAMED_ALIKE.split()})
no_kernel.update({name: name + ending for ending, names in _ENDINGS.items() for name in names.split()})
no_kernel.update({name: kernel for kernel, names in _OTHERWISE.items() for name in names.split()})
# What moves no elements, or only rows of them, needs no kernel.
idle.update(dict.fromkeys(("gather", "scatter.src", "scatter.value"), lambda self, dim, index, *_: not index.numel()))
idle.update(dict.fromkeys(("put", "take"), lambda self, index, *_: not index.numel()))
idle.update(dict.fromkeys(("cumprod", "cumsum"), lambda self, *_: not self.dim()))
idle["flip"] = lambda self, dims: not any(self.shape[d] > 1 for d in dims if self.dim() - 1 in (d, d + self.dim()))
computed_wide.update(("convolution", "convolution_backward", "index_add"))
