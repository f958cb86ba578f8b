"""Elementwise ops on sparse tensors: functions that keep zero, sums, products, copies."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NoReturn

from ..backends.sparse import CompressedBackend, Coo, CooBackend, compressed, coo, layout_name, like, short_name
from ..core.machine import Tensor, TensorBase, result_type
from ..core.machine.registry import registry
from ..core.values import broadcast_shapes, missing_kernel_of, preserve_format, sparse_csr
from ..core.values.layout import channels_last, channels_last_3d, contiguous_format
from ..kernels import sparse as kernels
from ..operations.formulas import tensors
from ..operations.places.writing import combine
from ._compressed import as_coo, values_there
from ._coo import at_places, coalesced, in_order, matched, places
from ._family import check_kernel, is_compressed, is_coo, is_sparse, quiet, rule, tensor
from ._masks import check_mask

# ---- of one tensor

# Functions that are zero at zero, of values each at one place.
_ZERO_KEEPING = """
    abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf isposinf log1p rad2deg
    relu round sgn sign signbit sin sinh sqrt tan tanh trunc
"""
# Those that are linear besides: values at one place need not be added up first.
_LINEAR = ("neg", "conj_physical", "conj_physical.in_place", "_conj", "_neg_view")


def _one(t: Tensor) -> Any:
    """The array of a tensor with no more than one value at a place."""
    return coalesced(t._array) if is_coo(t) else t._array


def _of_each(name: str, t: Tensor, *rest: Any) -> Tensor:
    array = t._array if name in _LINEAR else _one(t)
    return like(t, array.with_values(registry[name].apply(array.values, *rest).resolve_conj().resolve_neg()))


def _of_each_in_place(name: str, t: Tensor, *rest: Any) -> None:
    if is_coo(t) and not t._array.coalesced and name not in _LINEAR:
        raise RuntimeError(f"{registry[name].signature.name}_ requires coalesced input")
    registry[name].apply_in_place([t._array.values, *rest])


for _name in (*_ZERO_KEEPING.split(), *_LINEAR):
    rule(_name)(functools.partial(_of_each, _name))
    rule(_name, in_place=True)(functools.partial(_of_each_in_place, _name))
CompressedBackend.rule("angle")(functools.partial(_of_each, "angle"))
CooBackend.rule("nan_to_num")(functools.partial(_of_each, "nan_to_num"))
CooBackend.rule("nan_to_num", in_place=True)(functools.partial(_of_each_in_place, "nan_to_num"))


@CooBackend.rule("pow.Tensor_Scalar")
def _power(t: Tensor, exponent: Any) -> Tensor:
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    array = _one(t)
    return like(t, array.with_values(array.values.pow(exponent)))


@CooBackend.rule("pow.Tensor_Scalar", in_place=True)
def _power_in_place(t: Tensor, exponent: Any) -> NoReturn:
    raise missing_kernel_of("pow_.Scalar", t._backend.real)


@CooBackend.rule("threshold_backward")
def _of_threshold(g: Tensor, self: Tensor, threshold: Any) -> Tensor:
    array = _one(self)
    there = matched(coalesced(g._array), places(array)) if is_sparse(g) else at_places(g, array.indices)
    return like(self, array.with_values(there * (array.values > threshold)))


@CompressedBackend.rule("threshold_backward")
def _of_compressed_threshold(g: Tensor, self: Tensor, threshold: Any) -> Tensor:
    for t in (g, self):
        if not is_sparse(t):
            raise RuntimeError(f"values expected sparse tensor layout but got {layout_name(t)}")
    values = registry["threshold_backward"].apply(g._array.values, self._array.values, threshold)
    return like(self, self._array.with_values(values))


@CooBackend.rule("norm")
def _norm(t: Tensor, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    if dim is not None and len(set(dim)) < t.dim():
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
            "dimensions of the input"
        )
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    return tensors.norm(_one(t).values, p=ord, dtype=dtype)


@CooBackend.rule("dist")
def _dist(self: Tensor, other: Tensor, p: Any) -> Tensor:
    return (self - other).norm(p)


@CooBackend.rule("view_as_real")
def _view_as_real(t: Tensor) -> Tensor:
    if not t.dtype.is_complex:
        raise RuntimeError("view_as_real_sparse is only supported for complex sparse tensors")
    array = t._array.with_values(tensors.view_as_real(t._array.values))
    array.shape = (*t.shape, 2)
    return like(t, array)


@CooBackend.rule("view_as_complex")
def _view_as_complex(t: Tensor) -> Tensor:
    if t.shape[-1] != 2 or not t._array.dense_dim:
        raise RuntimeError(
            "view_as_complex_sparse is only supported for sparse tensors with the last dim == 2 and dense_dim > 0."
        )
    array = t._array.with_values(tensors.view_as_complex(t._array.values))
    array.shape = t.shape[:-1]
    return like(t, array)


@CooBackend.rule("any")
def _any(t: Tensor) -> Tensor:
    return t._array.values.any()


# ---- copies


_FORMATS = {
    preserve_format: "Preserve", contiguous_format: "Contiguous", channels_last: "ChannelsLast",
    channels_last_3d: "ChannelsLast3d",
}  # fmt: skip


@rule("clone")
def _clone(t: Tensor, format_: Any) -> Tensor:
    if format_ is not None:
        raise RuntimeError(f"unsupported memory format option {_FORMATS[format_]}")
    return like(t, t._array.each(lambda part: part.clone()))


@rule("detach alias")
def _alias(t: Tensor) -> Tensor:
    return t._alias()


@rule("_to_copy")
def _converted(t: Tensor, d: Any, format_: Any) -> Tensor:
    if is_compressed(t) and format_ not in (None, preserve_format):
        raise RuntimeError(
            f"to(options): {short_name(t.layout).capitalize()} only supports memory format Preserve, but got "
            f"{format_.name.removesuffix('_format').title().replace('_', '')} instead."
        )
    *where, values = t._array.parts()
    return like(t, t._array.over(*[part.clone() for part in where], values.to(d, copy=True)))


@CooBackend.rule("_to_device")
def _moved(t: Tensor, device: Any) -> Tensor:
    array = t._array.each(lambda part: part.to(device))
    return coo(array.indices, array.values, array.shape, array.coalesced)


@CompressedBackend.rule("_to_device")
def _moved_compressed(t: Tensor, device: Any) -> Tensor:
    array = t._array.each(lambda part: part.to(device))
    return compressed(array.layout, array.compressed, array.plain, array.values, array.shape)


_OTHER_COUNT = "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."


@rule("copy", in_place=True)
def copy(self: Tensor, other: Tensor, *_: Any) -> None:
    """The same places, with copies of their values."""
    if is_compressed(self) and self.layout is not other.layout:
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self layout is "
            f"{layout_name(self)} and src layout is {layout_name(other)}"
        )
    if is_coo(other) is not is_coo(self) and not is_compressed(other):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.type()} and src type = {other.type()}"
        )
    if self.layout is not other.layout:
        raise RuntimeError(
            f"copy_sparse_compressed_ expected sparse compressed tensor layout but got {layout_name(self)}"
        )
    if is_compressed(self) and self._array.nnz != other._array.nnz:
        raise RuntimeError(_OTHER_COUNT)
    copied = other._array.each(lambda part: part.clone())
    self._array.become(copied.with_values(copied.values.to(self.dtype)))


# ---- sums


def _plus(a: Coo, b: Coo, alpha: Any) -> Coo:
    """The sum of two arrays of one shape: the values of both, in pairs where the places of both are in order."""
    packed = a.values.is_contiguous() and b.values.is_contiguous()
    first, second = a.values, b.values if alpha == 1 else b.values * alpha
    d = result_type(a.values, b.values)
    first, second = [v.to(d) for v in (first, second)]
    if packed and a.nnz == b.nnz and bool((a.indices == b.indices).all()):
        return Coo(a.indices, first + second, a.shape, a.coalesced and b.coalesced)
    made = Coo(tensors.cat([a.indices, b.indices], 1), tensors.cat([first, second]), a.shape)
    backend, flat = made.values._backend.home, places(made)
    turns = quiet(kernels.turns, backend.xp, flat[: a.nnz], flat[a.nnz :]) if packed else None
    if turns is None:
        return coalesced(made) if made.nnz > made.size else made
    at, sums = quiet(kernels.combined, backend.xp, turns, made.values._array)
    indices = tensor(made.indices._array[:, at], backend)
    return Coo(indices, tensor(sums, backend), a.shape, a.coalesced and b.coalesced)


_OTHER_WAY = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."


@CooBackend.rule("add add.Scalar")
def add(self: Any, other: Any, alpha: Any = 1) -> Tensor:
    if not is_sparse(other) or (isinstance(self, TensorBase) and is_sparse(self) and not is_sparse(other)):
        raise RuntimeError(_OTHER_WAY)
    if not isinstance(self, TensorBase) or not is_sparse(self):
        return _added(self, other, alpha)
    check_kernel("cadd_sparse", result_type(self, other))
    return _sum(self, other, alpha)


def _sum(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    if self.shape != other.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != {list(other.shape)}"
        )
    if self._array.sparse_dim != other._array.sparse_dim and other._array.nnz and self._array.nnz:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions, but 'self' has "
            f"{self._array.sparse_dim} while 'other' has {other._array.sparse_dim}"
        )
    return like(self, _plus(self._array, other._array, alpha))


def _added(self: Any, other: Tensor, alpha: Any) -> Tensor:
    """A dense tensor plus a sparse one."""
    if not isinstance(self, TensorBase) or (not self.dim() and other.dim()):
        raise RuntimeError(_OTHER_WAY)
    made = self.to(result_type(self, other), copy=True).contiguous()
    add_in_place(made, other, alpha)
    return made


@CooBackend.rule("add", in_place=True)
def add_in_place(self: Tensor, other: Any, alpha: Any = 1) -> None:
    if is_sparse(self) or not is_sparse(other):
        made = add(self, other, alpha)._array
        self._array.become(made.with_values(made.values.to(self.dtype)))
        return
    _check_alike(self.shape, other)
    array, backend = other._array, self._backend.real
    values = array.values if alpha == 1 else array.values * alpha
    target = self._array
    if not target.flags.c_contiguous:
        self.add_(other.to_dense(), alpha=alpha)
        return
    rows = target.reshape((-1, *target.shape[array.sparse_dim :]))
    ufunc = "logical_or" if target.dtype.kind == "b" else "add"
    if array.coalesced and ufunc == "add":
        at = places(array)
        rows[at] = quiet(backend.xp.add, rows[at], values._array).astype(rows.dtype, copy=False)
    else:
        quiet(combine, backend.xp, ufunc, rows, places(array), values.to(self.dtype)._array)


def _check_alike(shape: Sequence[int], other: Tensor) -> None:
    if tuple(shape) != tuple(other.shape):
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(shape)} while other has "
            f"size {list(other.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )


@CooBackend.rule("sub")
def _sub(self: Any, other: Any, alpha: Any = 1) -> Tensor:
    return add(self, other, -alpha)


@CooBackend.rule("sub", in_place=True)
def _sub_in_place(self: Tensor, other: Any, alpha: Any = 1) -> None:
    add_in_place(self, other, -alpha)


@CooBackend.rule("rsub")
def _rsub(self: Any, other: Any, alpha: Any) -> NoReturn:
    """A number, which is a dense tensor then, lacks the shape; for tensors there is no kernel."""
    if not isinstance(other, TensorBase):
        _check_alike((), self)
    raise missing_kernel_of("rsub.Tensor", (self if is_coo(self) else other)._backend.real)


@CompressedBackend.rule("rsub")
def _rsub_compressed(self: Any, other: Any, alpha: Any) -> NoReturn:
    if not isinstance(other, TensorBase):
        raise RuntimeError(f"unsupported tensor layout: {layout_name(self)}")
    raise missing_kernel_of("rsub.Tensor", (self if is_compressed(self) else other)._backend.real)


# ---- products


def _is_number(value: Any) -> bool:
    return not isinstance(value, TensorBase) or not (value.dim() or is_sparse(value))


def _intersection(a: Tensor, b: Tensor) -> Tensor:
    """The product of two tensors of one shape: values at the places that both have, or at all of one out of order."""
    one, other = sorted((b._array, a._array), key=lambda array: (_ordered(array), array.nnz))
    if not one.nnz or not other.nnz:
        return coo(one.indices[:, :0], one.values[:0] * other.values[:0], a.shape, True)
    if not _ordered(one):
        wide = in_order(other.with_values(other.values.to(result_type(a, b))))
        return coo(one.indices.clone(), one.values * matched(wide, places(one)), a.shape)
    backend = one.values._backend.home
    rows = backend.xp.flatnonzero(backend.xp.isin(places(one), places(other)))
    if rows.size or not one.dense_dim:
        check_kernel("addcmul_cpu_out" if one.dense_dim else "mul_out_sparse", result_type(a, b))
    indices = tensor(one.indices._array[:, rows], backend)
    flat = places(Coo(indices, one.values, one.shape))
    return coo(indices, tensor(one.values._array[rows], backend) * matched(other, flat), a.shape, True)


def _ordered(array: Coo) -> bool:
    return array.coalesced or array.nnz < 2


def _times_dense(sparse: Tensor, other: Tensor) -> Tensor:
    """A sparse tensor times a dense one: values where the sparse one has some."""
    array = sparse._array
    shape = broadcast_shapes(sparse.shape, other.shape)
    if shape != tuple(sparse.shape):
        array = in_order(_broadcast(array, shape)) if array.coalesced else _broadcast(array, shape)
    there = at_places(other.expand(shape), array.indices)
    return coo(array.indices.clone(), array.values * there, shape, array.coalesced)


def _broadcast(array: Coo, shape: tuple[int, ...]) -> Coo:
    """An array in a larger shape: its values repeated along the sparse dimensions that it has not."""
    sparse = len(shape) - array.dense_dim
    more = sparse - array.sparse_dim
    own = (*(1,) * more, *array.shape[: array.sparse_dim])
    repeated = [n if have != n else 1 for have, n in zip(own, shape)]
    grid = tensors.ones(repeated, dtype=array.indices.dtype, device=array.indices.device).nonzero().t()
    indices = tensors.cat([array.indices.new_zeros((more, array.nnz)), array.indices])
    spread = (grid.unsqueeze(2) + indices.unsqueeze(1)).reshape((sparse, -1))
    values = array.values.expand((grid.shape[1], array.nnz, *shape[sparse:]))
    return Coo(spread, values.reshape((-1, *shape[sparse:])), shape)


@rule("ldexp")
def _ldexp(self: Any, other: Any) -> Tensor:
    return self * tensors.pow(2.0, other)


@rule("ldexp", in_place=True)
def _ldexp_in_place(self: Tensor, other: Any) -> None:
    self.mul_(tensors.pow(2.0, other))


@CooBackend.rule("mul mul.Scalar")
def mul(self: Any, other: Any) -> Tensor:
    for one, number in ((self, other), (other, self)):
        if is_coo(one) and _is_number(number):
            return like(one, one._array.with_values(one._array.values * number))
    if is_coo(self) and is_coo(other):
        if not other.dim():
            return mul(self, other.to_dense())
        if not self.dim():
            return mul(other, self.to_dense())
        if self.shape != other.shape:
            raise RuntimeError(
                "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of "
                "sparse dimensions, and shape of sparse dimensions"
            )
        return _intersection(self, other)
    return _times_dense(self, other) if is_coo(self) else _times_dense(other, self)


@CooBackend.rule("mul", in_place=True)
def _mul_in_place(self: Tensor, other: Any) -> None:
    made = mul(self, other)
    if not is_sparse(self):
        _check_alike(self.shape, made)
        made = made.to_dense()
    self._backend.real.write(self._array, made._array)
    if is_sparse(self) and not (is_sparse(other) and other.dim()):
        self._array.coalesced = False


def _divided(name: str, self: Any, other: Any, *more: Any) -> Tensor:
    if not is_sparse(self) or not _is_number(other):
        what = "division" if name.startswith("div") else "floor division"
        shape = f"shape {list(getattr(other, 'shape', ()))} for divisor"
        got = "a sparse divisor" if is_sparse(other) and not other.dim() else shape
        raise RuntimeError(f"Sparse {what} requires a scalar or zero-dim dense tensor divisor (got {got})")
    array = self._array if name == "div" or more == (None,) else _one(self)
    return like(self, array.with_values(registry[name].apply(array.values, other, *more)))


for _name in ("div", "div.rounding_mode", "floor_divide"):
    CooBackend.rule(_name)(functools.partial(_divided, _name))


# ---- of compressed tensors

_NOT_BY_ROWS = "Expected result Tensor to be of format CSR"


@CompressedBackend.rule("mul")
def _mul_compressed(self: Any, other: Any) -> Tensor:
    for one, number in ((self, other), (other, self)):
        if is_compressed(one) and _is_number(number):
            return like(one, one._array.with_values(one._array.values * number))
    if is_compressed(self) and self._array.blocked:
        raise RuntimeError(
            f"empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got {layout_name(self)}"
        )
    if (self if is_compressed(self) else other).layout is not sparse_csr:
        raise RuntimeError(_NOT_BY_ROWS)
    if is_sparse(self) and is_sparse(other):
        return mul(*[as_coo(t) if is_compressed(t) else t for t in (self, other)]).to_sparse_csr()
    one, dense = (self, other) if is_compressed(self) else (other, self)
    check_mask(dense, one)
    if one._array.batch:
        return as_coo(one).to_sparse_csr()  # which says that batches stay what they are
    return like(one, one._array.with_values(one._array.values * values_there(dense, one._array)))


@CompressedBackend.rule("mul", in_place=True)
def _mul_compressed_in_place(self: Tensor, other: Any) -> None:
    if self.layout is not sparse_csr and not _is_number(other):
        raise RuntimeError(_NOT_BY_ROWS)
    self._backend.real.write(self._array, _mul_compressed(self, other)._array)


@CompressedBackend.rule("add")
def _add_compressed(self: Any, other: Any, alpha: Any = 1) -> Tensor:
    if is_compressed(self) and is_compressed(other):
        if self._array.by_rows is not other._array.by_rows:
            by_columns = other if self._array.by_rows else self
            raise RuntimeError(
                f"crow_indices expected sparse row compressed tensor layout but got {layout_name(by_columns)}"
            )
        if self.shape != other.shape:
            raise RuntimeError(
                "torch.add: Expected input tensors to have the same shape, but got tensor `self` with shape "
                f"{list(self.shape)} and tensor `other` with shape {list(other.shape)}"
            )
        made = _sum(as_coo(self), as_coo(other), alpha)
        return made.to_sparse(layout=self.layout, blocksize=self._array.blocksize or None)
    one, dense = (self, other) if is_compressed(self) else (other, self)
    if one._array.blocked:
        raise RuntimeError("src.layout() == kSparseCsr || src.layout() == kSparseCsc")
    shape = tuple(getattr(dense, "shape", ()))
    if one.shape != shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(shape)} while other has size "
            f"{list(one.shape)} (FYI: op2-sparse addition does not currently support broadcasting)"
        )
    return dense + one.to_dense() * alpha  # whichever comes first, as in PyTorch


@rule("addr")
def _addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any) -> Tensor:
    outer = vec1.outer(vec2)
    return (self if beta == 1 else self * beta) + (outer if alpha == 1 else outer * alpha)


@CompressedBackend.rule("normal", in_place=True)
def _normal(self: Tensor, *parameters: Any) -> None:
    self._array.values.normal_(*parameters[:-1], generator=parameters[-1])


@CompressedBackend.rule("fill.Scalar", in_place=True)
def _fill(self: Tensor, value: Any) -> None:
    """What there are of values become this one."""
    self._array.values.fill_(value)


@CompressedBackend.rule("zero", in_place=True)
def _zero(self: Tensor) -> None:
    self._array.become(tensors.zeros_like(self)._array)
