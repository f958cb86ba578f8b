"""Products of vectors and matrices that are added to something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.declare import Op, conj, describe, publish, sum_to
from ...core.machine import Tensor, bump, result_type
from ...core.machine.write import check_castable, write
from ...core.values import Array, Namespace, contiguous_strides, dt, errors, result_strides
from ...kernels.summing import widened
from ..pointwise.arithmetic import check_factors, times
from ..vocabulary import scaled
from .exact import Exact, Product
from .matmul import (
    _check_bmm,
    _check_inner,
    _each_adjoint,
    _no_bool,
    adjoint,
    bmm,
    check_vector_dtypes,
    mm,
    mv,
    of_coordinates,
    to_first,
    to_second,
    unrounded,
)


def _plus_product(xp: Namespace, base: Array, a: Array, b: Array, beta: Any, alpha: Any) -> Array:
    """`beta * base + alpha * (a @ b)`, in one precision until the end; a beta of zero lets no NaN through."""
    shape = (*a.shape[:-1], b.shape[-1])
    if not a.size:  # no products, not even zeros
        if beta == 0 or 0 in shape:
            return xp.zeros(shape, base.dtype)
        return xp.broadcast_to(times(xp, widened(base), beta), shape).astype(base.dtype, order="C")
    if alpha == 0 and base.dtype.itemsize > 2:  # neither does one of alpha, where BLAS is asked
        made = xp.zeros(shape, a.dtype)
    else:
        made = times(xp, unrounded(xp, a, b), alpha)
    if beta != 0:
        xp.add(made, times(xp, widened(base), beta), made)
    return made.astype(base.dtype, copy=False)


def _expandable(self: Tensor, shape: tuple[int, ...]) -> None:
    have = self._array.shape
    if len(have) > len(shape) or any(a not in (1, b) for a, b in zip(reversed(have), reversed(shape))):
        self.expand(shape)  # which says what does not fit


def _plus(self: Tensor, made: Tensor, beta: Any, alpha: Any) -> Tensor:
    """What the ops below are made of; each says how to make the product."""
    made = made if alpha == 1 else made * alpha
    return made if beta == 0 else made + (self if beta == 1 else self * beta)


def _of_base(g: Tensor, self_shape: tuple[int, ...], beta: Any) -> Tensor:
    return sum_to(scaled(g, beta), self_shape)


def _check_numbers(self: Tensor, shape: tuple[int, ...], first: Tensor, beta: Any, alpha: Any) -> None:
    """Whether `self` expands to the result's shape, and numbers fit; where nothing is added, beta is just a factor."""
    _expandable(self, shape)
    if 0 in shape:
        return
    if first._array.size:
        check_factors(dt.WIDE.get(self.dtype, self.dtype), self, beta, alpha)
    elif beta != 0:
        check_castable(result_type(self, beta), self.dtype)


def _check_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> None:
    if of_coordinates(mat1, mat2):
        return
    for name, t in (("self", self), ("mat1", mat1)):
        if t.dtype is not mat2.dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {t.dtype.legacy} and {mat2.dtype.legacy}"
            )
    a, b = mat1._array.shape, mat2._array.shape
    if len(a) != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {len(a)}-D tensor")
    if len(b) != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {len(b)}-D tensor")
    _check_inner(mat1, mat2)
    _no_bool("addmm_impl_cpu_", mat1, mat2)
    _check_numbers(self, (a[0], b[1]), mat1, beta, alpha)


def _check_written(self: Tensor, a: Tensor, b: Tensor, beta: Any, alpha: Any) -> None:
    """A `check_in_place=`: what a product is added to in place has its shape."""
    m, n = a.dim(), b.dim()
    if m not in (2, 3) or n not in (1, m) or not self.dtype is a.dtype is b.dtype:
        return
    shape, inner = (*a._array.shape[:-1], *b._array.shape[1:][-1:]), b._array.shape[max(n - 2, 0)]
    if a.shape[-1] == inner and self._array.shape != shape:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(self.shape)} and output tensor size {list(shape)} should match"
        )


addmm = Product(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)",
    _plus_product,
    {
        "self": _of_base,
        "mat1": lambda g, mat2, alpha, mat1_shape, mat1_stride: (
            scaled(to_first(g, mat2, mat1_shape, mat1_stride), alpha)
        ),
        "mat2": lambda g, mat1, alpha, mat2_shape, mat2_stride: (
            scaled(to_second(g, mat1, mat2_shape, mat2_stride), alpha)
        ),
    },
    check_form=_check_addmm, check_in_place=_check_written, factor=1,
    batch=lambda self, mat1, mat2, beta, alpha: _plus(self, mm.apply(mat1, mat2), beta, alpha),
    shows="alpha beta mat1_sym_sizes mat2_sym_sizes",
)
publish(addmm, inplace=True)


def _check_addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: Any, alpha: Any) -> None:
    a, b = mat._array.shape, vec._array.shape
    if len(a) != 2 or len(b) != 1 or self.dim() > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.dim()}, {len(a)}, {len(b)}")
    if a[1] != b[0] or self._array.shape not in ((a[0],), (1,), ()):
        raise RuntimeError(f"size mismatch, got input ({self.size(0)}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
    check_vector_dtypes(self.dtype, mat.dtype, vec.dtype)
    _no_bool("addmv_impl_cpu", mat, vec)
    if mat._array.size:
        check_factors(self.dtype, self, beta, alpha)
    elif beta != 0:
        check_factors(self.dtype, self, beta)


def _addmv(xp: Namespace, self: Array, mat: Array, vec: Array, beta: Any, alpha: Any) -> Any:
    if not mat.size and beta != 0:
        if not mat.shape[0] or self.shape == mat.shape[:1]:
            return times(xp, self, beta).copy()
        errors.out_resized(mat.shape[:1], self.shape)  # which PyTorch says of what it has made itself
        made = xp.empty(mat.shape[0], self.dtype)[:1].reshape(self.shape)
        made[...] = times(xp, self, beta)
        return made
    return _plus_product(xp, self.reshape((-1, 1)), mat, vec.reshape((-1, 1)), beta, alpha).reshape((mat.shape[0],))


addmv = Product(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)",
    _addmv,
    {
        "self": _of_base,
        "mat": lambda g, vec, alpha: scaled(g.outer(conj(vec)), alpha),
        "vec": lambda g, mat, alpha: scaled(adjoint(mat).mv(g), alpha),
    },
    check_form=_check_addmv, check_in_place=_check_written, factor=1,
    batch=lambda self, mat, vec, beta, alpha: _plus(self, mv.apply(mat, vec), beta, alpha),
    shows="alpha beta",
)
publish(addmv, inplace=True)


def _check_addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any) -> None:
    d = result_type(self, vec1, vec2)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and d is not dt.bool_:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, (float, complex)) and d.category < dt.FLOAT:
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if vec1.dim() != 1 or vec2.dim() != 1:
        name, t = ("vec1", vec1) if vec1.dim() != 1 else ("vec2", vec2)
        raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {t.dim()}-D")
    _expandable(self, (vec1.numel(), vec2.numel()))
    check_factors(d, self, beta, alpha)


def _check_addr_in_place(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any) -> None:
    if self.dim() != 2:
        raise RuntimeError(f"2D tensor expected, got {self.dim()}D tensor for input")
    if vec1.dim() == vec2.dim() == 1 and self._array.shape != (vec1.numel(), vec2.numel()):
        sizes = [list(t.shape) for t in (self, vec1, vec2)]
        raise RuntimeError("size mismatch, input: {}, v1: {}, v2: {}".format(*sizes))


def _addr(xp: Namespace, self: Array, vec1: Array, vec2: Array, beta: Any, alpha: Any) -> Any:
    made = xp.multiply(times(xp, vec1, alpha).reshape((-1, 1)), vec2)
    return xp.add(times(xp, self, beta), made) if beta != 0 else made


def _as_sum(op: Op, outputs: Any, values: Sequence[Any]) -> Any:
    """`arranged` for the sum of a matrix and a product, which lies as the matrix does."""
    self = values[0]
    backend = self._backend.real
    forms = (self._array.shape, backend.strides(self._array)), (outputs.shape, contiguous_strides(outputs.shape))
    return backend.ordered(outputs, result_strides(outputs.shape, forms))


addr = Op(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)", _addr,
    {
        "self": _of_base,
        "vec1": lambda g, vec2, alpha: scaled(g.mv(conj(vec2)), alpha),
        "vec2": lambda g, vec1, alpha: scaled(g.t().mv(conj(vec1)), alpha),
    },
    check_form=_check_addr, check_in_place=_check_addr_in_place,
    promote=("self", "vec1", "vec2"), arranged=_as_sum,
    batch=lambda self, vec1, vec2, beta, alpha: _plus(self, vec1.unsqueeze(1) * vec2, beta, alpha), shows="alpha beta",
)  # fmt: skip
publish(addr, inplace=True)


def _check_batches(self: Tensor, batch1: Tensor, batch2: Tensor, label: str) -> None:
    if not self.dtype is batch1.dtype is batch2.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {self.dtype.cname}, batch1: {batch1.dtype.cname}, "
            f"batch2: {batch2.dtype.cname}"
        )
    for batch in (batch1, batch2):
        errors.wrap_dim(2, batch.dim())
    _check_bmm(batch1, batch2, label)


def _check_baddbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any) -> None:
    _check_batches(self, batch1, batch2, "baddbmm")
    _check_numbers(self, (*batch1._array.shape[:2], batch2._array.shape[2]), batch1, beta, alpha)


baddbmm = Exact(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
    _plus_product,
    {
        "self": _of_base,
        "batch1": lambda g, batch2, alpha: scaled(g.bmm(_each_adjoint(batch2)), alpha),
        "batch2": lambda g, batch1, alpha: scaled(_each_adjoint(batch1).bmm(g), alpha),
    },
    check_form=_check_baddbmm, check_in_place=_check_written,
    batch=lambda self, batch1, batch2, beta, alpha: _plus(self, bmm.apply(batch1, batch2), beta, alpha),
    shows="alpha beta",
)
publish(baddbmm, inplace=True)


def _check_addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any) -> None:
    _check_batches(self, batch1, batch2, "addmm_impl_cpu_")
    _check_numbers(self, (batch1._array.shape[1], batch2._array.shape[2]), batch1, beta, alpha)


def _over_batch(g: Tensor, count: int) -> Tensor:
    return g.unsqueeze(0).expand((count, *g.shape))


def _addbmm(xp: Namespace, self: Array, batch1: Array, batch2: Array, beta: Any, alpha: Any) -> Any:
    count, rows, inner = batch1.shape
    if count and widened(self) is not self:  # halves are rounded after every product
        for a, b in zip(batch1, batch2):
            self, beta = _plus_product(xp, self, a, b, beta, alpha), 1
        return self
    side_by_side = xp.moveaxis(batch1, 0, 1).reshape((rows, count * inner))
    return _plus_product(xp, self, side_by_side, batch2.reshape((count * inner, batch2.shape[2])), beta, alpha)


def _in_shape_of_products(op: Op, self_: Tensor, before: Tensor, values: list[Any]) -> None:
    """In place, the sum takes the shape of the products."""
    result = op.apply(before, *values[1:])
    if self_._array.shape == result._array.shape:
        write(self_, result)
    else:
        self_._array = result._array
        bump(self_)


addbmm = Exact(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
    _addbmm,
    {
        "self": _of_base,
        "batch1": lambda g, batch2, alpha: scaled(_over_batch(g, batch2.shape[0]).bmm(_each_adjoint(batch2)), alpha),
        "batch2": lambda g, batch1, alpha: scaled(_each_adjoint(batch1).bmm(_over_batch(g, batch1.shape[0])), alpha),
    },
    check_form=_check_addbmm,
    overwrite=_in_shape_of_products,
    batch=lambda self, batch1, batch2, beta, alpha: _plus(self, bmm.apply(batch1, batch2).sum(0), beta, alpha),
    shows="alpha beta batch1_sym_argsize_0 batch1_sym_argsize_1 batch2_sym_argsize_2",
)
publish(addbmm, inplace=True)


describe(
    addbmm="The sum over a batch of the products of its matrices, added to `input`; scaled by `alpha` and `beta`.",
    addmm="`beta * input + alpha * (mat1 @ mat2)`.",
    addmv="`beta * input + alpha * (mat @ vec)`.",
    addr="`beta * input + alpha * outer(vec1, vec2)`.",
    baddbmm="`beta * input + alpha * (batch1 @ batch2)`, for each matrix of a batch.",
)
