"""What sparse tensors cannot do, in PyTorch's words; read last, since it is what has no rule by then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..backends.sparse import CompressedBackend, CooBackend, Sparse, layout_name, short_name
from ..core.declare.elementwise import Elementwise
from ..core.machine import Tensor
from ..core.machine.registry import registry
from ..core.values.errors import missing_kernel_of
from ._family import is_sparse, rule

_EMPTY = "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size "
_UNSUPPORTED = "unsupported tensor layout: {layout}"
_RESIZED = "resize_reduction: support for output with {layout} layout is not implemented yet"
_CONTIGUITY, _STRIDES = (f"Sparse {{short}} tensors do not have {what}" for what in ("is_contiguous", "strides"))
_PRESERVE, _CONTIGUOUS = (f"unsupported memory format option {name}" for name in ("Preserve", "Contiguous"))
# What PyTorch asks of a tensor first, and finds that it has not, and the ops that ask; "_" is behind in-place forms.
_ASKED = {
    _CONTIGUITY: "cat pixel_shuffle pixel_unshuffle stack",
    _STRIDES: """
        _neg_view _unsafe_view alias_copy argsort argsort.stable diagonal diagonal_copy glu index.Tensor index_add_
        index_copy_ index_reduce_ narrow_copy scatter.reduce_ scatter.src_ scatter_add_ scatter_reduce.two_ slice.Tensor
        slice_copy sort sort.stable split.Tensor split_with_sizes split_with_sizes_copy squeeze squeeze.dim squeeze.dims
        squeeze_copy squeeze_copy.dim squeeze_copy.dims unsafe_split.Tensor unsafe_split_with_sizes unsqueeze
        unsqueeze_copy view_copy
    """,
    "expand is unsupported for {layout} tensors": "expand expand_copy repeat",
    _RESIZED:
        "all.dim all.dims any.dim any.dims mean.dim prod.dim_int",
    _CONTIGUOUS: "detach_copy masked_fill.Scalar masked_fill.Tensor masked_scatter t_copy transpose_copy unbind_copy",
    _PRESERVE: "index_fill.int_Scalar index_fill.int_Tensor index_put put",
    _EMPTY + "[0]": """
        _linalg_lstsq complex kthvalue logsumexp median.dim mvlgamma nanmedian.dim native_batch_norm polar
        soft_margin_loss
    """,
    "torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size []": "_linalg_pinv",
    "self.has_storage()": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
}  # fmt: skip
_OF_BLOCKS = {
    "empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got {layout}":
        "_pad_circular1d _pad_circular2d _pad_circular3d constant_pad_nd cummax cummin",
    "zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got {layout}":
        "block_diag diag_embed",
}  # fmt: skip
_OF_LINES = {  # of layouts without blocks
    _EMPTY + "[0]": "cummax cummin",
    _STRIDES: "_pad_circular1d _pad_circular2d _pad_circular3d block_diag constant_pad_nd diag_embed",
}
_OF_MATRICES = {_EMPTY + "[]": "linalg_det linalg_slogdet slogdet"}
_OF_DIMENSIONS = {  # where a dimension is named
    _RESIZED:
        "amax amin argmax argmin hash_tensor",
}  # fmt: skip
_OF_COORDINATES = {
    "Cannot access storage of SparseTensorImpl": "_neg_view _unsafe_view",
    _CONTIGUOUS: "masked_fill.Scalar masked_fill.Tensor masked_scatter",
    _PRESERVE: "index_fill.int_Scalar index_fill.int_Tensor index_put put",
    "full(...) is not implemented for sparse layout": "_linalg_matrix_rank",
    "memory format option is only supported by strided tensors": "bernoulli",
}
_INTO_DENSE = {  # where what is written to is dense
    "copy_sparse_compressed_ expected sparse compressed tensor layout but got Strided":
        "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
}  # fmt: skip
_OF_OTHER_SHAPES = {  # where a mask has another shape
    "expand is unsupported for {layout} tensors": "masked_fill.Scalar masked_fill.Tensor masked_scatter",
}
# Reductions whose results are made before their kernels are looked for; behind them, where their dimensions are given.
_REDUCED = {
    "aminmax": ("aminmax.out", 1), "linalg_vector_norm": ("linalg_vector_norm.out", 2), "max.dim": ("max.dim_max", 1),
    "min.dim": ("min.dim_min", 1),
}  # fmt: skip
_NOT_ITERATED = ("frexp", "logit")
# The elementwise ops whose kernels are asked for before layouts are.
_OF_KERNELS = """
    binary_cross_entropy binary_cross_entropy_with_logits floor_divide hardswish hardtanh huber_loss log_sigmoid
    nan_to_num pow.Scalar rsub where _prelu_kernel
"""
# In-place forms of which that is so, and their kernels; of all layouts first.
_IN_PLACE_ANYWHERE = {
    **{f"index_fill.int_{kind}": f"index_fill_.int_{kind}" for kind in ("Scalar", "Tensor")},
    **{f"masked_fill.{kind}": f"masked_fill_.{kind}" for kind in ("Scalar", "Tensor")},
    "index_put": "_index_put_impl_", "masked_scatter": "masked_scatter_", "put": "put_",
}  # fmt: skip
_IN_PLACE = {
    **{name: f"{name}.out" for name in ("cumprod", "cumsum", "mvlgamma", "nan_to_num", "polygamma", "renorm")},
    **{f"logical_{name}": f"logical_{name}.out" for name in ("and", "not", "or", "xor")},
    "baddbmm": "baddbmm.out", "floor_divide": "floor_divide_.Tensor",
}  # fmt: skip


def _first(values: Any) -> Any:
    listed = [t for v in values for t in (v if isinstance(v, (tuple, list)) else (v,))]
    return next(v for v in listed if is_sparse(v))


def _any(*values: Any) -> bool:
    return True


def _of_self(self: Any, *rest: Any) -> bool:
    """Whether the first operand, which results are made like, is sparse."""
    return is_sparse(self) or not isinstance(self, Tensor)


def _refuse(backend: type[Sparse], table: dict[str, str], applies: Callable[..., bool] = _of_self) -> None:
    """Let ops raise errors that may name the layout; where not all calls are meant, the others do what they did."""
    for said, names in table.items():
        for name in names.split():
            in_place = name not in registry
            stem = name.removesuffix("_") if in_place else name
            otherwise = (backend.writes if in_place else backend.rules).get(stem)
            backend.rule(stem, in_place=in_place)(_refused(said, stem, applies, otherwise))


def _refused(said: str, name: str, applies: Callable[..., bool], otherwise: Any) -> Callable[..., Any]:
    def refused(*values: Any) -> Any:
        t = _first(values)
        if not applies(*values):
            if otherwise is not None:
                return otherwise(*values)
            copied = applies is _of_self and said in (_CONTIGUOUS, _PRESERVE)  # to be written to then
            raise t.backend.real.cannot(registry[name], values, "_" if copied else "")
        kind = NotImplementedError if said.startswith("Cannot access storage") else RuntimeError
        raise kind(said.format(layout=layout_name(t), short=short_name(t.layout)))

    return refused


def _not_in_3d(t: Tensor, weight: Tensor, *options: Any) -> bool:
    """Whether a convolution is not one that PyTorch has a kernel of its own for."""
    transposed = options[4]
    return transposed or weight.dim() != 5


def _part_of(t: Tensor, order: Any, dim: Any, *_: Any) -> bool:
    """Whether a norm is not of all dimensions."""
    return bool(dim) and len(dim) < t.dim()


def _reduce(name: str, kernel: str, at: int) -> None:
    """Let a reduction, whose dimensions and `keepdim` are arguments from `at` on, lack its result or its kernel."""

    @CompressedBackend.rule(name)
    def reduced(*values: Any) -> NoReturn:
        t, dim, keepdim = _first(values), values[at], values[at + 1]
        gone = {d % t.dim() for d in ([dim] if isinstance(dim, int) else dim or range(t.dim()))}
        size = list(t.shape) if keepdim else [n for d, n in enumerate(t.shape) if d not in gone]
        raise t.backend.real.missing(kernel, makes=True) if len(size) > 1 else RuntimeError(f"{_EMPTY}{size}")


@CompressedBackend.rule("nll_loss_forward")
def _nll_loss(self: Tensor, target: Tensor, weight: Any, reduction: int, *_: Any) -> NoReturn:
    raise RuntimeError(f"{_EMPTY}{[] if reduction else list(target.shape)}")


@CompressedBackend.rule("as_strided", in_place=True)
def _laid(self: Tensor, *_: Any) -> NoReturn:
    raise self.backend.real.storage(self.array)


@CompressedBackend.rule("bmm")
def _bmm(self: Tensor, mat2: Tensor) -> NoReturn:
    """The result is made like the second factor."""
    raise _first((self, mat2)).backend.real.missing("bmm.out", makes=is_sparse(mat2))


@CooBackend.rule("constant_pad_nd")
def _padded(t: Tensor, pad: Sequence[int], value: Any) -> NoReturn:
    raise t.backend.real.missing("as_strided" if min(pad) < 0 else "fill_.Scalar", makes=True)


@CompressedBackend.rule("_linalg_matrix_rank")
def _rank(self: Tensor, *_: Any) -> NoReturn:
    raise RuntimeError(f"{_EMPTY}{list(self.shape[:-2])}")


def _miss(name: str, kernel: str, declare: Callable[..., Any] = CompressedBackend.rule) -> None:
    """Let the in-place form of an op raise the error for a kernel that is missing."""

    @declare(name, in_place=True)
    def missed(*values: Any) -> NoReturn:
        raise missing_kernel_of(kernel, _first(values).backend.real)


_refuse(CompressedBackend, _ASKED)
_refuse(CompressedBackend, _INTO_DENSE, lambda *values: not _of_self(*values))
_refuse(CompressedBackend, _OF_LINES)
_refuse(CompressedBackend, {_UNSUPPORTED: "dist", _CONTIGUITY: "native_layer_norm"}, _any)
_refuse(CooBackend, {_CONTIGUOUS: "native_layer_norm"}, _any)
_refuse(CompressedBackend, _OF_BLOCKS, lambda t, *_: is_sparse(t) and t.array.blocked)
_refuse(CompressedBackend, {_STRIDES: "constant_pad_nd"}, lambda t, pad, *_: min(pad) < 0)
_refuse(CompressedBackend, _OF_DIMENSIONS, lambda t, dim, *_: dim not in (None, (), []))
_refuse(CompressedBackend, _OF_MATRICES, lambda t: t.dim() == 2)
_refuse(CompressedBackend, {_CONTIGUITY: "convolution"}, _not_in_3d)
_refuse(CompressedBackend, {_RESIZED: "norm"}, _part_of)
_refuse(CooBackend, {_CONTIGUOUS: "convolution"}, _not_in_3d)
_refuse(CooBackend, _OF_COORDINATES)
for _name, (_kernel, _at) in _REDUCED.items():
    _reduce(_name, _kernel, _at)
for _backend in (CooBackend, CompressedBackend):
    _refuse(_backend, _OF_OTHER_SHAPES, lambda t, mask, *_: t.shape != mask.shape)
for _name, _kernel in _IN_PLACE_ANYWHERE.items():
    _miss(_name, _kernel, rule)
for _name, _kernel in _IN_PLACE.items():
    _miss(_name, _kernel)
for _name in ("as_strided", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze"):
    _miss(_name, "as_strided_", CooBackend.rule)
for _name, _op in registry.items():
    if isinstance(_op, Elementwise) and not {_name} & {*CompressedBackend.rules, *_OF_KERNELS.split(), *_NOT_ITERATED}:
        if _name.startswith("logical_"):
            _refuse(CompressedBackend, {f"{_EMPTY}[0]": _name})
        else:
            _refuse(CompressedBackend, {_UNSUPPORTED: _name}, _any)

# The kernels that PyTorch looks for where a call comes to other ops than here: to an `out=` form, to one of tensors,
# which numbers are made first, to one for all overloads, …
_OUT_FORMS = ["complex", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "polar"]
_OF_TENSORS = ["bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "fmod", "remainder", "xlogy"]
_OF_BOTH = ("clamp", "clamp_max", "clamp_min")
_FACTORED = """
    _linalg_cholesky _linalg_eigh _linalg_inv_ex _linalg_ldl_factor_ex _linalg_lu_solve _linalg_solve_ex _linalg_svd
    _lu_factor_ex _triangular_solve linalg_cholesky_ex linalg_det linalg_qr linalg_slogdet qr slogdet
"""
# Those whose results are made before their kernels are looked for.
_MADE_FIRST = """
    _softmax_backward_data _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d adaptive_max_pool2d adaptive_max_pool3d amax amin argmax argmin
    avg_pool2d avg_pool3d bmm cumprod cumsum gather hash_tensor index_add index_copy index_reduce linalg_cross
    max_pool2d_with_indices nan_to_num reflection_pad1d reflection_pad3d renorm replication_pad1d replication_pad2d
    replication_pad3d scatter_add tril triu upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d
    upsample_nearest2d upsample_nearest3d upsample_trilinear3d
"""
_COPIES = {"select": "int", "slice": "Tensor", "split": "Tensor", "transpose": "int", "unbind": "int"}
_CALLED = {
    **dict.fromkeys(("binary_cross_entropy_with_logits", "log_sigmoid"), "log_sigmoid_forward"),
    "_cholesky": "cholesky", "_cholesky_inverse": "cholesky_inverse", "_cholesky_solve": "_cholesky_solve_helper",
    "_embedding_bag": "_embedding_bag_forward_only", "_householder": "linalg_householder_product",
    "_linalg_solve_triangular": "linalg_solve_triangular", "_ormqr": "ormqr",
    "argwhere": "nonzero", "count_nonzero": "count_nonzero.dim_IntList", "frexp": "frexp.Tensor_out",
    "histogramdd": "_histogramdd_bin_edges", "histogramdd.TensorList_bins": "_histogramdd_from_bin_tensors",
    "histogramdd.int_bins": "_histogramdd_bin_edges", "index_put_": "_index_put_impl_", "native_group_norm": "view",
    "_multinomial": "multinomial", "max_pool3d": "max_pool3d_with_indices", "logcumsumexp": "_logcumsumexp",
    "rot90": "flip",
}  # fmt: skip
CompressedBackend.called |= {
    **_CALLED,
    **{name: f"{name}.out" for name in (*_OUT_FORMS, *_MADE_FIRST.split())},
    **{f"scatter.{kind}": f"scatter.{kind}_out" for kind in ("reduce", "src", "value", "value_reduce")},
    **dict.fromkeys(_FACTORED.split(), "empty_strided"),
    **{f"floor_divide.{kind}": "floor_divide" for kind in ("Scalar", "Tensor")},
    "_linalg_lstsq": "linalg_lstsq.out",
    "_linalg_lu": "linalg_lu.out", "_lu_permutation": "lu_unpack.out", "_lu_unpack": "lu_unpack.out",
    "_log_softmax.int": "_log_softmax.out", "_softmax.int": "_softmax.out",
    "all": "all.all_out", "any": "any.all_out", "norm": "norm.out", "mean": "mean.out",
    "rsub.Scalar": "rsub.Tensor", "scatter_reduce.two": "scatter_reduce.two_out", "where.Tensor": "where.self",
    "where.Scalar": "where.self", "unfold_copy": "unfold",
    "isin.Scalar": "isin.Tensor_Scalar_out", "isin.Tensor": "isin.Tensor_Tensor_out", "topk": "topk.values",
    "max_pool2d": "max_pool2d_with_indices.out", "pow.Scalar": "pow.Scalar_out",
    "tril_": "tril.out", "triu_": "triu.out", "_linalg_ldl_solve": "linalg_ldl_solve.out",
    "_safe_softmax": "_softmax.out", "as_strided_copy": "as_strided",
    "bernoulli": "bernoulli_.Tensor", "convolution": "slow_conv3d_forward", "permute_copy": "as_strided",
    **{f"fractional_max_pool{n}d": f"fractional_max_pool{n}d.output" for n in (2, 3)},
}  # fmt: skip
CooBackend.called |= {
    **_CALLED,
    **{name + end: f"{name}.out" for name in _OUT_FORMS for end in ("", "_")},
    **{f"{name}{end}.Scalar": f"{name}{end}.Tensor" for name in _OF_TENSORS for end in ("", "_")},
    **{f"{name}{end}.Scalar": name + end for name in _OF_BOTH for end in ("", "_")},
    **{f"{name}_copy": f"{name}_copy.{overload}" for name, overload in _COPIES.items()},
    **{f"bitwise_{which}_shift.Scalar": f"bitwise_{which}_shift.Tensor" for which in ("left", "right")},
    **{f"bitwise_{which}_shift_.Scalar": f"bitwise_{which}_shift.Tensor_out" for which in ("left", "right")},
    **{f"{name}.Tensor": name for name in registry if name.startswith("special_")},
    **{f"_linalg_{name}": f"linalg_{name}" for name in ("ldl_factor_ex", "ldl_solve", "lu", "lu_solve")},
    "_linalg_cholesky": "linalg_cholesky_ex", "_lu_permutation": "lu_unpack", "max_pool2d": "max_pool2d_with_indices",
    "_linalg_lstsq": "linalg_lstsq.out", "_lu_unpack": "lu_unpack",
    "block_diag": "as_strided", "clamp_": "clamp_.Tensor",
    "mvlgamma": "arange.start_out", "soft_margin_loss": "exp_",
    "where.Tensor": "where.self",
    "_linalg_inv_ex": "linalg_inv_ex", "_log_softmax.int": "_log_softmax", "_lu_factor_ex": "linalg_lu_factor_ex",
    "_softmax.int": "_softmax", "_triangular_solve": "triangular_solve", "argsort": "sort.stable", "celu": "elu",
    "celu_._": "elu_", "cummax": "_cummax_helper", "cummin": "_cummin_helper", "elu_._": "elu_", "eq": "eq.Tensor",
    "isin.Scalar": "isin.Tensor_Scalar", "isin.Tensor": "isin.Tensor_Tensor", "linalg_det": "_linalg_det",
    "linalg_slogdet": "_linalg_slogdet", "mean": "mean.dim", "median.dim": "median.dim_values",
    "mvlgamma_": "mvlgamma.out", "nanmedian.dim": "nanmedian.dim_values", "ne": "ne.Scalar",
    "polygamma_": "polygamma.out", "pow_.Tensor_Tensor": "pow_.Tensor", "qr": "linalg_qr", "slogdet": "_linalg_slogdet",
    "unsafe_split.Tensor": "as_strided", "unsafe_split_with_sizes": "as_strided", "_safe_softmax": "_softmax",
    **{f"_pad_circular{n}d": "as_strided" for n in (1, 2, 3)}, "_linalg_pinv": "linalg_pinv.atol_rtol_tensor",
    "convolution": "slow_conv3d_forward", "kthvalue": "kthvalue.values",
}  # fmt: skip
