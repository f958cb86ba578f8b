"""The kernels that PyTorch looks for, and misses, where a call on sparse tensors comes to other ops than here.

That may be an `out=` form; one of tensors, which numbers are made first; one for all overloads; …
"""

from __future__ import annotations

from ..backends.sparse import CompressedBackend, CooBackend
from ..core.machine.registry import registry

_OUT_FORMS = ("complex", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "polar")
# Of all layouts.
_CALLED = {
    **dict.fromkeys(("histogramdd", "histogramdd.int_bins"), "_histogramdd_bin_edges"),
    **{name: f"{name}.out" for name in _OUT_FORMS},
    "_cholesky": "cholesky", "_cholesky_inverse": "cholesky_inverse", "_cholesky_solve": "_cholesky_solve_helper",
    "_embedding_bag": "_embedding_bag_forward_only", "_householder": "linalg_householder_product",
    "_linalg_lstsq": "linalg_lstsq.out", "_linalg_solve_triangular": "linalg_solve_triangular",
    "_multinomial": "multinomial", "_ormqr": "ormqr", "_trilinear.rows": "_trilinear", "argwhere": "nonzero",
    "count_nonzero": "count_nonzero.dim_IntList", "frexp": "frexp.Tensor_out",
    "histogramdd.TensorList_bins": "_histogramdd_from_bin_tensors", "index_put_": "_index_put_impl_",
    "log_sigmoid": "log_sigmoid_forward", "logcumsumexp": "_logcumsumexp", "max_pool3d": "max_pool3d_with_indices",
    "native_group_norm": "view", "rot90": "flip", "where.Tensor": "where.self", "_linalg_solve": "_linalg_solve_ex",
}  # fmt: skip
# Of compressed layouts, by their `out=` forms.
_RENAMED = {
    **dict.fromkeys(("_safe_softmax", "_softmax.int"), "_softmax"),
    **dict.fromkeys(("_lu_permutation", "_lu_unpack"), "lu_unpack"),
    "_linalg_lu": "linalg_lu", "_log_softmax.int": "_log_softmax", "max_pool2d": "max_pool2d_with_indices",
}  # fmt: skip

# ---- compressed layouts

_FACTORED = """
    _linalg_cholesky _linalg_eigh _linalg_inv_ex _linalg_ldl_factor_ex _linalg_solve _linalg_svd
    _lu_factor_ex _triangular_solve linalg_cholesky_ex linalg_det linalg_qr linalg_slogdet qr slogdet
"""
# Those whose results are made before their kernels are looked for.
_MADE_FIRST = """
    _softmax_backward_data _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d adaptive_max_pool2d adaptive_max_pool3d amax amin argmax argmin
    avg_pool2d avg_pool3d bmm cumprod cumsum gather hash_tensor index_add index_copy index_reduce linalg_cross
    max_pool2d_with_indices mean nan_to_num norm reflection_pad1d reflection_pad3d renorm replication_pad1d
    replication_pad2d replication_pad3d scatter_add tril triu upsample_bicubic2d upsample_bilinear2d upsample_linear1d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d
"""
CompressedBackend.called |= {
    **_CALLED,
    **{name: f"{kernel}.out" for name, kernel in _RENAMED.items()},
    **{name: f"{name}.out" for name in _MADE_FIRST.split()},
    **{f"{name}_": f"{name}.out" for name in ("tril", "triu")},
    **{name: f"{name}.all_out" for name in ("all", "any")},
    **{f"fractional_max_pool{n}d": f"fractional_max_pool{n}d.output" for n in (2, 3)},
    **{f"scatter.{kind}": f"scatter.{kind}_out" for kind in ("reduce", "src", "value", "value_reduce")},
    **{f"isin.{kind}": f"isin.Tensor_{kind}_out" for kind in ("Scalar", "Tensor")},
    **dict.fromkeys(_FACTORED.split(), "empty_strided"),
    **dict.fromkeys(("as_strided_copy", "permute_copy"), "as_strided"),
    **dict.fromkeys(("floor_divide.Scalar", "floor_divide.Tensor"), "floor_divide"),
    "bernoulli": "bernoulli_.Tensor", "pow.Scalar": "pow.Scalar_out", "rsub.Scalar": "rsub.Tensor",
    "scatter_reduce.two": "scatter_reduce.two_out", "topk": "topk.values", "unfold_copy": "unfold",
    "where.Scalar": "where.self",
}  # fmt: skip

# ---- coordinates

_OF_TENSORS = ("bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "fmod", "remainder", "xlogy")
_COPIES = {"select": "int", "slice": "Tensor", "split": "Tensor", "transpose": "int", "unbind": "int"}
_VIEWS = ("unsafe_split.Tensor", "unsafe_split_with_sizes", *[f"_pad_circular{n}d" for n in (1, 2, 3)])
CooBackend.called |= {
    **_CALLED,
    **_RENAMED,
    **{f"{name}_": f"{name}.out" for name in (*_OUT_FORMS, "mvlgamma", "polygamma")},
    **{f"{name}{end}.Scalar": f"{name}{end}.Tensor" for name in _OF_TENSORS for end in ("", "_")},
    **{f"{name}{end}.Scalar": name + end for name in ("clamp", "clamp_max", "clamp_min") for end in ("", "_")},
    **{f"{name}_copy": f"{name}_copy.{overload}" for name, overload in _COPIES.items()},
    **{f"bitwise_{which}_shift.Scalar": f"bitwise_{which}_shift.Tensor" for which in ("left", "right")},
    **{f"bitwise_{which}_shift_.Scalar": f"bitwise_{which}_shift.Tensor_out" for which in ("left", "right")},
    **{f"isin.{kind}": f"isin.Tensor_{kind}" for kind in ("Scalar", "Tensor")},
    **{f"{name}.Tensor": name for name in registry if name.startswith("special_")},
    **{f"_linalg_{name}": f"linalg_{name}" for name in ("inv_ex", "ldl_factor_ex", "ldl_solve", "lu_solve")},
    **{name: f"_{name}_helper" for name in ("cummax", "cummin")},
    **{f"{name}.dim": f"{name}.dim_values" for name in ("median", "nanmedian")},
    **dict.fromkeys(_VIEWS, "as_strided"),
    **dict.fromkeys(("celu_._", "elu_._"), "elu_"),
    **dict.fromkeys(("linalg_slogdet", "slogdet"), "_linalg_slogdet"),
    "_linalg_cholesky": "linalg_cholesky_ex",
    "_lu_factor_ex": "linalg_lu_factor_ex", "_triangular_solve": "triangular_solve", "argsort": "sort.stable",
    "celu": "elu", "clamp_": "clamp_.Tensor", "eq": "eq.Tensor", "kthvalue": "kthvalue.values",
    "linalg_det": "_linalg_det", "mean": "mean.dim", "mvlgamma": "arange.start_out", "ne": "ne.Scalar",
    "pow_.Tensor_Tensor": "pow_.Tensor", "qr": "linalg_qr",
}  # fmt: skip
