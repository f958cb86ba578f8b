"""What sparse tensors cannot do, in PyTorch's words; read last, since it is what has no rule by then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..backends.sparse import CompressedBackend, CooBackend, Sparse, layout_name, short_name
from ..core.declare import Elementwise
from ..core.machine import Tensor
from ..core.machine.registry import registry
from ..core.values import missing_kernel_of
from ._family import is_sparse, rule

_EMPTY = "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size "
_UNSUPPORTED = "unsupported tensor layout: {layout}"
_RESIZED = "resize_reduction: support for output with {layout} layout is not implemented yet"
_CONTIGUITY, _STRIDES = (f"Sparse {{short}} tensors do not have {what}" for what in ("is_contiguous", "strides"))
_EXPAND = "expand is unsupported for {layout} tensors"
_BLOCKS = "{}_sparse_compressed expected sparse compressed (non-block) tensor layout but got {{layout}}"
_PRESERVE, _CONTIGUOUS = (f"unsupported memory format option {name}" for name in ("Preserve", "Contiguous"))
_SCATTERED = "as_strided_scatter diagonal_scatter select_scatter slice_scatter"
# The elementwise ops whose kernels are asked for before layouts are, and those that do not iterate.
_OF_KERNELS = """
    binary_cross_entropy floor_divide hardswish hardtanh huber_loss log_sigmoid
    nan_to_num pow.Scalar rsub where _prelu_kernel frexp logit
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


def _refuse(backend: type[Sparse], applies: Callable[..., bool], table: dict[str, str]) -> None:
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
            raise t._backend.real.cannot(registry[name], values, "_" if copied else "")
        kind = NotImplementedError if said.startswith("Cannot access storage") else RuntimeError
        raise kind(said.format(layout=layout_name(t), short=short_name(t.layout)))

    return refused


# Which calls are meant -> what is said of them, and of which ops; "_" is behind in-place forms.
_REFUSED: tuple[tuple[type[Sparse], Callable[..., bool], dict[str, str]], ...] = (
    (CompressedBackend, _of_self, {  # what PyTorch asks of a tensor first, and finds that it has not
        _CONTIGUITY: "cat pixel_shuffle pixel_unshuffle stack",
        _STRIDES: """
            _neg_view _unsafe_view alias_copy argsort argsort.stable diagonal diagonal_copy glu index.Tensor index_add_
            index_copy_ index_reduce_ narrow_copy scatter.reduce_ scatter.src_ scatter_add_ scatter_reduce.two_
            slice.Tensor slice_copy sort sort.stable split.Tensor split_with_sizes split_with_sizes_copy squeeze
            squeeze.dim squeeze.dims squeeze_copy squeeze_copy.dim squeeze_copy.dims unsafe_split.Tensor
            unsafe_split_with_sizes unsqueeze unsqueeze_copy view_copy
        """,
        _EXPAND: "expand expand_copy repeat",
        _RESIZED: "all.dim all.dims any.dim any.dims mean.dim prod.dim_int",
        _CONTIGUOUS:
            "detach_copy masked_fill.Scalar masked_fill.Tensor masked_scatter t_copy transpose_copy unbind_copy",
        _PRESERVE: "index_fill.int_Scalar index_fill.int_Tensor index_put put",
        _EMPTY + "[0]": """
            _linalg_lstsq complex kthvalue logsumexp median.dim mvlgamma nanmedian.dim polar soft_margin_loss
        """,
        _EMPTY.replace("empty", "zeros", 1) + "[]": "linalg_pinv.atol_rtol_tensor",
        "self.has_storage()": _SCATTERED,
    }),
    (CompressedBackend, lambda *values: not _of_self(*values), {
        "copy_sparse_compressed_ expected sparse compressed tensor layout but got Strided": _SCATTERED,
    }),
    (CompressedBackend, _of_self, {  # of layouts without blocks; those with them follow
        _EMPTY + "[0]": "cummax cummin",
        _STRIDES: "_pad_circular1d _pad_circular2d _pad_circular3d constant_pad_nd diag_embed",
    }),
    (CompressedBackend, _any, {_UNSUPPORTED: "dist", _STRIDES: "_trilinear _trilinear.rows"}),
    (CooBackend, lambda t, *_: not is_sparse(t), {_CONTIGUOUS: "_embedding_bag native_group_norm"}),
    (CompressedBackend, lambda t, *_: is_sparse(t) and t._array.blocked, {
        _BLOCKS.format("empty"): "_pad_circular1d _pad_circular2d _pad_circular3d constant_pad_nd cummax cummin",
        _BLOCKS.format("zeros"): "diag_embed",
    }),
    (CompressedBackend, lambda t, pad, *_: min(pad) < 0, {_STRIDES: "constant_pad_nd"}),
    (CompressedBackend, lambda t, dim, *_: dim not in (None, (), []), {
        _RESIZED: "amax amin argmax argmin hash_tensor",
    }),
    (CompressedBackend, lambda t: t.dim() == 2, {_EMPTY + "[]": "linalg_det linalg_slogdet slogdet"}),
    (CompressedBackend, lambda t, order, dim, *_: bool(dim) and len(dim) < t.dim(), {_RESIZED: "norm"}),
    (CooBackend, _of_self, {
        "Cannot access storage of SparseTensorImpl": "_neg_view _unsafe_view",
        _CONTIGUOUS: "masked_fill.Scalar masked_fill.Tensor masked_scatter",
        _PRESERVE: "index_fill.int_Scalar index_fill.int_Tensor index_put put",
        "full(...) is not implemented for sparse layout": "_linalg_matrix_rank",
        "memory format option is only supported by strided tensors": "bernoulli",
    }),
    *[
        (backend, lambda t, mask, *_: t.shape != mask.shape, {
            _EXPAND: "masked_fill.Scalar masked_fill.Tensor masked_scatter",
        })
        for backend in (CooBackend, CompressedBackend)
    ],
)  # fmt: skip


def _reduce(name: str, kernel: str, at: int) -> None:
    """Let a reduction, whose dimensions and `keepdim` are arguments from `at` on, lack its result or its kernel."""

    @CompressedBackend.rule(name)
    def reduced(*values: Any) -> NoReturn:
        t, dim, keepdim = _first(values), values[at], values[at + 1]
        gone = {d % t.dim() for d in ([dim] if isinstance(dim, int) else dim or range(t.dim()))}
        size = list(t.shape) if keepdim else [n for d, n in enumerate(t.shape) if d not in gone]
        raise t._backend.real.missing(kernel, makes=True) if len(size) > 1 else RuntimeError(f"{_EMPTY}{size}")


@CompressedBackend.rule("nll_loss_forward")
def _nll_loss(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, *_: Any) -> NoReturn:
    raise RuntimeError(f"{_EMPTY}{[] if reduction else list(target.shape)}")


@CompressedBackend.rule("as_strided", in_place=True)
def _laid(self: Tensor, *_: Any) -> NoReturn:
    raise self._backend.real.storage(self._array)


@CompressedBackend.rule("bmm")
def _bmm(self: Tensor, mat2: Tensor) -> NoReturn:
    """The result is made like the second factor."""
    raise _first((self, mat2))._backend.real.missing("bmm.out", makes=is_sparse(mat2))


@CooBackend.rule("constant_pad_nd")
def _padded(t: Tensor, pad: Sequence[int], value: Any) -> NoReturn:
    raise t._backend.real.missing("as_strided" if min(pad) < 0 else "fill_.Scalar", makes=True)


@CompressedBackend.rule("_linalg_matrix_rank")
def _rank(self: Tensor, *_: Any) -> NoReturn:
    raise RuntimeError(f"{_EMPTY}{list(self.shape[:-2])}")


def _solve(name: str, kernel: str) -> None:
    """Let a solution of a factored system lack its result, if that is like the sparse right side, or its kernel."""

    @CompressedBackend.rule(name)
    def solved(factors: Tensor, pivots: Tensor, right: Tensor, *_: Any) -> NoReturn:
        t = _first((right, factors, pivots))
        raise missing_kernel_of("empty_strided" if t is right else kernel, t._backend.real)


def _miss(name: str, kernel: str, declare: Callable[..., Any] = CompressedBackend.rule) -> None:
    """Let the in-place form of an op raise the error for a kernel that is missing."""

    @declare(name, in_place=True)
    def missed(*values: Any) -> NoReturn:
        raise missing_kernel_of(kernel, _first(values)._backend.real)


for _row in _REFUSED:
    _refuse(*_row)
for _name, (_kernel, _at) in {
    "aminmax": ("aminmax.out", 1), "linalg_vector_norm": ("linalg_vector_norm.out", 2), "max.dim": ("max.dim_max", 1),
    "min.dim": ("min.dim_min", 1),
}.items():  # fmt: skip
    _reduce(_name, _kernel, _at)
for _name in ("linalg_ldl_solve", "linalg_lu_solve"):
    _solve(f"_{_name}", f"{_name}.out")
for _name, _kernel in _IN_PLACE_ANYWHERE.items():
    _miss(_name, _kernel, rule)
for _name, _kernel in _IN_PLACE.items():
    _miss(_name, _kernel)
for _name in ("as_strided", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze"):
    _miss(_name, "as_strided_", CooBackend.rule)
for _name, _op in registry.items():
    if isinstance(_op, Elementwise) and _name not in {*CompressedBackend.rules, *_OF_KERNELS.split()}:
        if _name.startswith("logical_"):
            _refuse(CompressedBackend, _of_self, {f"{_EMPTY}[0]": _name})
        else:
            _refuse(CompressedBackend, _any, {_UNSUPPORTED: _name})
