"""What tensors of compressed layouts cannot do, in PyTorch's words; read last, since it is what has no rule by then."""

from __future__ import annotations

from typing import Any, NoReturn

from ..backends.sparse import CompressedBackend, CooBackend, layout_name, short_name
from ..core.declare.elementwise import Elementwise
from ..core.machine.registry import registry
from ..core.values.errors import missing_kernel_of
from ._family import is_compressed

# Whose kernels PyTorch looks for by these names.
_MISSING = {
    "all": "all.all_out", "any": "any.all_out", "argmax": "argmax.out", "argmin": "argmin.out",
    "cumprod": "cumprod.out", "cumsum": "cumsum.out", "floor_divide": "floor_divide",
    "linalg_vector_norm": "norm.out", "log_softmax.int": "_log_softmax.out", "mean": "mean.out",
    "nan_to_num": "nan_to_num.out", "softmax.int": "_softmax.out",
}  # fmt: skip
# What it asks of a tensor first, and finds that it has not; and the ops that ask.
_ASKED = {
    "Sparse {short} tensors do not have is_contiguous": "cat stack",
    "Sparse {short} tensors do not have strides": """
        alias_copy argsort argsort.stable diagonal diagonal_copy slice.Tensor slice_copy sort sort.stable split.Tensor
        split_with_sizes squeeze squeeze.dim squeeze.dims squeeze_copy squeeze_copy.dim squeeze_copy.dims unfold
        unfold_copy unsqueeze unsqueeze_copy
    """,
    "expand is unsupported for {layout} tensors": "expand repeat",
    "resize_reduction: support for output with {layout} layout is not implemented yet": "mean.dim",
    "unsupported memory format option Contiguous":
        "detach_copy masked_fill.Scalar masked_fill.Tensor t_copy transpose_copy unbind_copy",
}  # fmt: skip
_NO_ROOM = "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size [0]"
_NOT_ITERATED = ("frexp", "logit")


def _first(values: Any) -> Any:
    listed = [t for v in values for t in (v if isinstance(v, (tuple, list)) else (v,))]
    return next(v for v in listed if is_compressed(v))


def _refuse(names: str, said: str) -> None:
    """Let ops raise an error that may name the layout."""

    @CompressedBackend.rule(names)
    def refused(*values: Any) -> NoReturn:
        t = _first(values)
        raise RuntimeError(said.format(layout=layout_name(t), short=short_name(t.layout)))


def _miss(name: str, kernel: str) -> None:
    """Let an op raise the error for a kernel that is missing."""

    @CompressedBackend.rule(name)
    def missed(*values: Any) -> NoReturn:
        raise missing_kernel_of(kernel, _first(values).backend.real)


for _name, _kernel in _MISSING.items():
    _miss(_name, _kernel)
for _said, _names in _ASKED.items():
    _refuse(_names, _said)
for _name, _op in registry.items():
    if isinstance(_op, Elementwise) and _name not in CompressedBackend.rules and _name not in _NOT_ITERATED:
        _refuse(_name, _NO_ROOM if _name.startswith("logical_") else "unsupported tensor layout: {layout}")

# The kernels that PyTorch looks for where a call comes to other ops than here: to an `out=` form, to one of tensors,
# which numbers are made first, to one for all overloads, …
_OUT_FORMS = ["complex", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "polar"]
_OF_TENSORS = ["bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "fmod", "remainder", "xlogy"]
_OF_BOTH = ("clamp", "clamp_max", "clamp_min")
_FACTORED = ("_linalg_inv_ex", "_linalg_svd", "_lu_factor_ex", "_triangular_solve", "linalg_qr", "qr")
_COPIES = {"select": "int", "slice": "Tensor", "split": "Tensor", "transpose": "int", "unbind": "int"}
_CALLED = {
    "_cholesky": "cholesky", "_cholesky_inverse": "cholesky_inverse", "_cholesky_solve": "_cholesky_solve_helper",
    "argwhere": "nonzero", "count_nonzero": "count_nonzero.dim_IntList", "frexp": "frexp.Tensor_out",
    "histogramdd": "_histogramdd_bin_edges", "histogramdd.int_bins": "_histogramdd_bin_edges",
    "logcumsumexp": "_logcumsumexp", "rot90": "flip",
}  # fmt: skip
CompressedBackend.called |= {
    **_CALLED,
    **{name: f"{name}.out" for name in ("amax", "amin", "hash_tensor", "tril", "triu")},
    **dict.fromkeys(_FACTORED, "empty_strided"),
    "isin.Scalar": "isin.Tensor_Scalar_out", "isin.Tensor": "isin.Tensor_Tensor_out", "topk": "topk.values",
    "tril_": "tril.out", "triu_": "triu.out",
}  # fmt: skip
CooBackend.called |= {
    **_CALLED,
    **{name + end: f"{name}.out" for name in _OUT_FORMS for end in ("", "_")},
    **{f"{name}{end}.Scalar": f"{name}{end}.Tensor" for name in _OF_TENSORS for end in ("", "_")},
    **{f"{name}{end}.Scalar": name + end for name in _OF_BOTH for end in ("", "_")},
    **{f"{name}_copy": f"{name}_copy.{overload}" for name, overload in _COPIES.items()},
    **{f"bitwise_{which}_shift.Scalar": f"bitwise_{which}_shift.Tensor" for which in ("left", "right")},
    **{f"bitwise_{which}_shift_.Scalar": f"bitwise_{which}_shift.Tensor_out" for which in ("left", "right")},
    "_linalg_inv_ex": "linalg_inv_ex", "_log_softmax.int": "_log_softmax", "_lu_factor_ex": "linalg_lu_factor_ex",
    "_softmax.int": "_softmax", "_triangular_solve": "triangular_solve", "argsort": "sort.stable", "celu": "elu",
    "celu_._": "elu_", "cummax": "_cummax_helper", "cummin": "_cummin_helper", "elu_._": "elu_", "eq": "eq.Tensor",
    "isin.Scalar": "isin.Tensor_Scalar", "isin.Tensor": "isin.Tensor_Tensor", "linalg_det": "_linalg_det",
    "linalg_slogdet": "_linalg_slogdet", "mean": "mean.dim", "median.dim": "median.dim_values",
    "mvlgamma_": "mvlgamma.out", "nanmedian.dim": "nanmedian.dim_values", "ne": "ne.Scalar",
    "polygamma_": "polygamma.out", "pow_.Tensor_Tensor": "pow_.Tensor", "qr": "linalg_qr", "slogdet": "_linalg_slogdet",
    "unsafe_split_with_sizes": "as_strided",
}  # fmt: skip
