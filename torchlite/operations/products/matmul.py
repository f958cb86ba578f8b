"""Products of vectors, matrices and batches of matrices."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...backends.lazy import CONJ, flipped
from ...core.declare import Op, conj, describe, exchanged, method, publish
from ...core.machine import (
    Leading,
    Tensor,
    TensorBase,
    by_formula,
    fast,
    in_memory,
    into,
    refuse_history,
    requires_grad,
    wrap,
)
from ...core.machine.out_dtypes import check_out_dtype
from ...core.state import local
from ...core.values import Array, Namespace, dt, errors, or_own, sparse_coo, strided
from ...kernels.summing import widened
from ..shapes.orders import t as turned
from ..shapes.orders import transpose
from ..shapes.shape import expand, reshape, squeeze_dim, unsafe_view, unsqueeze
from .exact import Exact, Product

# ---- kernels


_LONG, _SMALL = 1000, 10**6  # numbers added up, multiplications in all


def _long_product(xp: Namespace, a: Array, b: Array) -> Any:
    """`a @ b`, with the left one copied where OpenBLAS has a kernel that adds one product after the other."""
    turned = a.size * b.shape[1] <= _SMALL and not a.flags.c_contiguous
    return (xp.ascontiguousarray(a) if turned else a).dot(b)


@or_own
def product(xp: Namespace, a: Array, b: Array) -> Any:
    """`a @ b` for two or three dimensions, by BLAS wherever the numbers fit."""
    kind = a.dtype.kind
    if kind in "fc" and a.dtype.itemsize > 2:
        if a.ndim == b.ndim == 2:
            inner = a.shape[1]
            if 1 < inner < _LONG:
                return a.dot(b)
            if inner == 1 == b.shape[0]:
                return xp.outer(a, b)  # products have signs of zero, sums of one do not
            return _long_product(xp, a, b)
        return xp.matmul(a, b)
    if kind in "fV":
        return unrounded(xp, a, b).astype(a.dtype)
    if a.size and b.size:
        # Integers have no BLAS. Doubles give the same sums as long as these stay below 2**53.
        largest = [max(abs(float(m.max().item())), abs(float(m.min().item()))) for m in (a, b)]
        if largest[0] * largest[1] * a.shape[-1] < 2**53:
            return product(xp, a.astype(xp.float64), b.astype(xp.float64)).astype(a.dtype)
    return xp.matmul(a, b)


@or_own
def unrounded(xp: Namespace, a: Array, b: Array) -> Any:
    """The same; that of halves is of float32."""
    return product(xp, widened(a), widened(b))


def _no_bool(label: str, *operands: Tensor) -> None:
    """There are no products of bools, but for those without elements."""
    if operands[0].dtype is dt.bool_ and all([t._array.size and t.layout is strided for t in operands]):
        raise errors.not_implemented_for(label, dt.bool_)


def same_dtype(a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype.cname} != {b.dtype.cname}")


def H(t: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    return conj(transpose.apply(t, -2, -1))


# ---- matrices


def _out_first(name: str, check_shapes: Callable[[Tensor, Tensor], None], as_operand: int = 0) -> Callable[..., None]:
    """A `check_out=`: the dtype of `out` is looked at after shapes, and before those of the operands."""

    def check(out: Any, values: Sequence[Any]) -> None:
        check_shapes(*values)
        if isinstance(out, TensorBase):
            check_out_dtype(name, values[as_operand].dtype, out.dtype, exact=True)

    return check


def _check_inner(mat1: Tensor, mat2: Tensor) -> None:
    a, b = mat1._array.shape, mat2._array.shape
    if a[1] != b[0]:
        if mat1._backend.device.type == "meta":
            raise RuntimeError(f"a and b must have same reduction dim, but got {list(a)} X {list(b)}.")
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")


def _check_matrices(self: Tensor, mat2: Tensor) -> None:
    no_memory = self._backend.device.type == "meta"
    if self.dim() != 2:
        raise RuntimeError("a must be 2D" if no_memory else "self must be a matrix")
    if mat2.dim() != 2:
        raise RuntimeError("b must be 2D" if no_memory else "mat2 must be a matrix")
    _check_inner(self, mat2)


def of_coordinates(*operands: Tensor) -> bool:
    """Whether a rule for sparse tensors checks operands in words of its own."""
    return sparse_coo in [t._backend.layout for t in operands]


def _check_mm(self: Tensor, mat2: Tensor) -> None:
    if of_coordinates(self, mat2):
        return
    _check_matrices(self, mat2)
    same_dtype(self, mat2)
    _no_bool("addmm_impl_cpu_", self, mat2)


def _mm(xp: Namespace, a: Array, b: Array) -> Any:
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("not matrices")  # the fast path then leaves it to the check
    return product(xp, a, b)


def _mm_of_batches(self: Tensor, mat2: Tensor) -> Tensor:
    """One or both are batches of matrices."""
    if mat2.dim() == 2:  # the batch is folded into the rows of one big matrix
        count, rows, inner = self._array.shape
        return unsafe_view.apply(mm.apply(reshape(self, (count * rows, inner)), mat2), (count, rows, mat2.shape[1]))
    return bmm.apply(self if self.dim() == 3 else expand.apply(self, (mat2.shape[0], *self.shape), False), mat2)


def _mv_of_batches(self: Tensor, vec: Tensor) -> Tensor:
    """One or both are batches."""
    if self.dim() == 2:
        return mm.apply(vec, transpose.apply(self, 0, 1))
    if vec.dim() == 1:
        count, rows, inner = self._array.shape
        return unsafe_view.apply(mv.apply(reshape(self, (count * rows, inner)), vec), (count, rows))
    return squeeze_dim.apply(bmm.apply(self, unsqueeze.apply(vec, 2)), 2)


# Words of a product of two tensors of one dtype, with a fast path.
_FAST: dict[str, Any] = {"fast": fast.binary, "direct": {d: d for d in dt.NUMBERS if d is not dt.complex32}}


def adjoint(t: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    return conj(turned.apply(t))


def by_columns(shape: Sequence[int], stride: Sequence[int]) -> bool:
    return tuple(stride) == (1, shape[0])


def to_first(g: Tensor, mat2: Tensor, shape: Sequence[int], stride: Sequence[int]) -> Tensor:
    """The gradient of the first factor of a product of matrices, lying as the factor of this form does."""
    if by_columns(shape, stride):
        return turned.apply(conj(mat2).mm(turned.apply(g)))
    return g.mm(adjoint(mat2))


def to_second(g: Tensor, mat1: Tensor, shape: Sequence[int], stride: Sequence[int]) -> Tensor:
    """The same of the second factor."""
    if by_columns(shape, stride):
        return turned.apply(turned.apply(g).mm(conj(mat1)))
    return adjoint(mat1).mm(g)


def _gradients_of_mm(
    xp: Namespace, g: Array, edges: Any, mat2: Array, self: Array, self_shape: Any, self_stride: Any, mat2_shape: Any,
    mat2_stride: Any,
) -> list[Any]:  # fmt: skip
    columns = by_columns(self_shape, self_stride), by_columns(mat2_shape, mat2_stride)
    return [
        None if edges[0] is None else xp.dot(mat2, g.T).T if columns[0] else xp.dot(g, mat2.T),
        None if edges[1] is None else product(xp, g.T, self).T if columns[1] else product(xp, self.T, g),
    ]


mm = Product(
    "mm(Tensor self, Tensor mat2)", _mm,
    {
        "self": lambda g, mat2, self_shape, self_stride: to_first(g, mat2, self_shape, self_stride),
        "mat2": lambda g, self, mat2_shape, mat2_stride: to_second(g, self, mat2_shape, mat2_stride),
    },
    check_form=_check_mm, check_out=_out_first("mm", _check_matrices), linear="each",
    batch=Leading(call=_mm_of_batches), on_arrays=by_formula(_gradients_of_mm),
    formulas={"self": lambda g, mat2, self_stride: (g @ mat2.T).by_rows(self_stride),
              "mat2": lambda g, self, mat2_stride: (self.T @ g).by_rows(mat2_stride)},
    **_FAST, shows="mat2_sym_sizes self_sym_sizes",
)  # fmt: skip
publish(mm)


def _check_batches(self: Tensor, mat2: Tensor) -> None:
    a, b = self._array.shape, mat2._array.shape
    for name, shape in (("batch1", a), ("batch2", b)):
        if len(shape) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if (a[0], a[2]) != b[:2]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: "
            f"[{b[0]}, {b[1]}]."
        )


def _check_bmm(self: Tensor, mat2: Tensor, label: str = "bmm") -> None:
    _check_batches(self, mat2)
    if self.dtype is not mat2.dtype:
        raise RuntimeError(f"expected scalar type {self.dtype.legacy} but found {mat2.dtype.legacy}")
    small = math.prod(self._array.shape[1:]) * mat2._array.shape[2] < 400  # others are products of two matrices each
    _no_bool(label if small else "addmm_impl_cpu_", self, mat2)


def _each_adjoint(t: Tensor) -> Tensor:
    return conj(transpose.apply(t, 1, 2))


bmm = Exact(
    "bmm(Tensor self, Tensor mat2)", product,
    {"self": lambda g, mat2: g.bmm(_each_adjoint(mat2)), "mat2": lambda g, self: _each_adjoint(self).bmm(g)},
    check_form=_check_bmm, check_out=_out_first("bmm", _check_batches, 1), linear="each",
    batch=Leading(call=lambda self, mat2: matmul.apply(self, mat2)),
)  # fmt: skip
publish(bmm)


def _check_vector(self: Tensor, vec: Tensor) -> None:
    a, b = self._array.shape, vec._array.shape
    if not a:
        self.size(0)  # a number has none
    if len(a) != 2 or len(b) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {len(a)}, {len(b)}")
    if a[1] != b[0]:
        raise RuntimeError(f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")


def check_vector_dtypes(self: dt.dtype, mat: dt.dtype, vec: dt.dtype) -> None:
    """Refuse a product of other dtypes than what it is added to, or written to."""
    if not self is mat is vec:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {self.legacy}, {mat.legacy}, and {vec.legacy}"
        )


def _check_mv(self: Tensor, vec: Tensor) -> None:
    if of_coordinates(self):
        return
    _check_vector(self, vec)
    check_vector_dtypes(vec.dtype, self.dtype, vec.dtype)
    _no_bool("addmv_impl_cpu", self, vec)


def _check_mv_out(out: Any, values: Sequence[Any]) -> None:
    self, vec = values
    _check_vector(self, vec)
    if isinstance(out, TensorBase):
        fits = out.dim() < 2 and out.numel() in (1, len(self))  # so that it serves as what the product is added to
        check_vector_dtypes(out.dtype if fits else vec.dtype, self.dtype, vec.dtype)
        check_out_dtype("mv", vec.dtype, out.dtype, exact=True)


mv = Product(
    "mv(Tensor self, Tensor vec)",
    lambda xp, self, vec: product(xp, self, vec.reshape((-1, 1))).reshape((self.shape[0],)),
    {"self": lambda g, vec: g.outer(conj(vec)), "vec": lambda g, self: adjoint(self).mv(g)},
    check_form=_check_mv, check_out=_check_mv_out, linear="each", batch=Leading(call=_mv_of_batches),
)  # fmt: skip
publish(mv)


def _check_dot(self: Tensor, tensor: Tensor) -> None:
    a, b = self._array.shape, tensor._array.shape
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    if self.dtype is not tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {self.dtype.legacy} and {tensor.dtype.legacy}"
        )
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same number of elements, "
            f"but got {a[0]} and {b[0]} elements respectively"
        )
    if self.dtype is dt.bool_:
        raise errors.not_implemented_for("dot", self.dtype)


def _check_dot_out(out: Any, values: Sequence[Any]) -> None:
    if isinstance(out, TensorBase):
        check_out_dtype("dot", values[0].dtype, out.dtype, exact=True)


def _dot(xp: Namespace, self: Array, tensor: Array) -> Array:
    return product(xp, self.reshape((1, -1)), tensor.reshape((-1, 1))).reshape(())


def _dot_of_conjugates(*bits: int) -> Callable[..., Any]:
    """A product of vectors with these bits is the conjugate of that in memory, computed when it is read."""

    def run_lazily(op: Op, values: Sequence[Any]) -> Any:
        if tuple([v._backend.bits if v._backend.lazy else 0 for v in values]) != bits:
            return Op.run_lazily(op, values)
        result = dot.apply(*map(in_memory, values))
        result._backend = flipped(result._backend, CONJ)
        return result

    return run_lazily


dot = Exact(
    "dot(Tensor self, Tensor tensor)", _dot,
    {"self": lambda g, tensor: g * conj(tensor), "tensor": lambda g, self: g * conj(self)},
    check_form=_check_dot, check_out=_check_dot_out,
    linear="each",
    batch=Leading(call=lambda self, tensor: (self * tensor).sum(-1)), run_lazily=_dot_of_conjugates(CONJ, CONJ),
)  # fmt: skip
vdot = Exact(
    "vdot(Tensor self, Tensor other)",
    lambda xp, self, other: _dot(xp, xp.conj(self) if self.dtype.kind == "c" else self, other),
    {"self": lambda g, other: conj(g) * other, "other": lambda g, self: g * self},
    check_form=_check_dot,
    linear="each",
    batch=Leading(call=lambda self, other: (conj(self) * other).sum(-1)), run_lazily=_dot_of_conjugates(0, CONJ),
)  # fmt: skip
publish(dot)
publish(vdot)


# ---- matmul: one of the above, by the ranks of its operands


def _alone(t: Tensor, other: Tensor) -> Tensor:
    """A batch of one matrix as a matrix, so that its gradient is a product too and not a sum of products."""
    return t.squeeze(0) if t.requires_grad and t._array.shape[0] == 1 != other._array.shape[0] else t


def _folds(batch: Tensor) -> bool:
    """Whether the rows of all matrices are those of one matrix over the same memory."""
    shape, steps = batch.shape, batch.stride()
    return not batch.numel() or all([steps[d] == steps[d + 1] * shape[d + 1] for d in range(len(shape) - 2)])


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    m, n = len(a._array.shape), len(b._array.shape)
    if m == n == 3:
        a, b = _alone(a, b), _alone(b, a)
        m, n = a.dim(), b.dim()
    if not m or not n:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D")
    if m == 2 and n == 2:
        return mm.apply(a, b)
    if m == 2 and n == 1:
        return mv.apply(a, b)
    if m == 1 and n == 1:
        return dot.apply(a, b)
    if m == 1 and n == 2:
        return a.unsqueeze(0).mm(b).squeeze_(0)
    fits = a.dtype is b.dtype and a._array.shape[-1] == b._array.shape[0]
    if n <= 2 and not (fits or b.requires_grad or _folds(a)):
        b = b if n == 2 else b.unsqueeze(1)  # which is refused as a batch
    elif n <= 2:  # fold the batch into the rows of one big matrix
        lead = a._array.shape[:-1]
        rows = a.reshape((math.prod(lead), a.shape[-1]))
        return unsafe_view.apply(rows.mv(b), lead) if n == 1 else unsafe_view.apply(rows.mm(b), (*lead, b.shape[1]))
    if (m < 3 and a.requires_grad) or (m == 1 and _folds(b.transpose(-2, -1))):  # transposed: gradients need no sum
        flipped = b.transpose(-2, -1)
        lead = flipped._array.shape[:-1]
        rows = flipped.reshape((math.prod(lead), flipped.shape[-1]))
        if m == 1:
            return unsafe_view.apply(rows.mv(a), lead)
        return unsafe_view.apply(rows.mm(a.t()), (*lead, a.shape[0])).transpose(-2, -1).contiguous()
    batch = errors.broadcast_shapes(a._array.shape[:-2], b._array.shape[:-2])
    count = math.prod(batch)
    (*lone, inner), (depth, columns) = a._array.shape[-2:], b._array.shape[-2:]
    height = lone or (1,)  # a vector is one row, which the result has no dimension for
    first = a.expand((*batch, *height, inner)).reshape((count, *height, inner))
    second = b.expand((*batch, depth, columns)).reshape((count, depth, columns))
    return unsafe_view.apply(first.bmm(second), (*batch, *lone, columns))


def _at_once(a: Tensor, b: Tensor) -> bool:
    """Whether one call gives all products of two batches: nobody records it, and BLAS takes them as they lie."""
    mode = local.state.mode
    alike = a.dtype is b.dtype and a._backend.real is b._backend.real
    if not mode.plain or not alike or a.dtype not in fast.PRECISE:
        return False
    if mode.grad and (requires_grad(a) or requires_grad(b)):
        return False
    (*batch, _, inner), (*other, depth, _) = a._array.shape, b._array.shape
    fits = inner == depth and (not other or other == batch)
    return fits and all([x._array.itemsize in x._array.strides[-2:] for x in (a, b)])


def _of_any_rank(op: Op, *values: Any) -> Any:
    """The fast path knows matrices only, as `mm`; all other ranks come here."""
    autocast = local.state.mode.autocast
    a, b = values if autocast is None else autocast.cast("matmul", values)
    backend = a._backend.real
    if not backend.level:
        op.find_kernel(backend)
        if a._array.ndim > 2 and b._array.ndim > 1 and _at_once(a, b):
            return wrap(local.state.quiet(bmm.kernel_on(backend), a._array, b._array), a.dtype, backend)
    return _matmul(a, b)


def _check_matmul_out(out: Any, values: Sequence[Any]) -> None:
    """The words of what it comes to: products of vectors have their own."""
    a, b = values
    m, n = a.dim(), b.dim()
    if not isinstance(out, TensorBase) or not m or not n:
        return
    if m == n == 1:
        _check_dot(a, b)
        check_out_dtype("dot", a.dtype, out.dtype, exact=True)
    elif (m, n) == (2, 1):
        _check_mv_out(out, values)
    elif m > 2 >= n and a._array.shape[-1] == b._array.shape[0]:
        if n == 1 and _folds(a):
            check_vector_dtypes(out.dtype, a.dtype, b.dtype)
        else:
            check_out_dtype("mm", a.dtype if _folds(a) else b.dtype, out.dtype, exact=True)
    elif m == n == 2:
        mm.check_out(out, values)  # type: ignore[misc]


def _into_product(op: Op, out: Any, values: Sequence[Any]) -> Any:
    """A vector times a matrix is written as a row, which then loses its first dimension."""
    a, b = values
    if isinstance(out, TensorBase) and (a.dim(), b.dim()) == (1, 2):
        refuse_history("matmul", out, values)
        return mm.given_out(out, (a.unsqueeze(0), b)).squeeze_(0)
    return Exact.given_out(op, out, values)


matmul: Exact = Exact(
    "matmul(Tensor self, Tensor other)", _mm,
    {
        "self": lambda g, other, self_shape, self_stride: to_first(g, other, self_shape, self_stride),
        "other": lambda g, self, other_shape, other_stride: to_second(g, self, other_shape, other_stride),
    },
    batch=_matmul, check_out=_check_matmul_out,
    apply=_of_any_rank, given_out=_into_product, node=mm.node_class, **_FAST,
)  # fmt: skip
method("__rmatmul__")(exchanged(publish(matmul, operators="matmul")))


# ---- the trace

into_exactly = functools.partial(into, exact=True, elementwise=True)


describe(
    bmm="The products of the matrices of two batches, `(b, n, m)` by `(b, m, p)`.",
    dot="The sum of the products of two vectors' elements.",
    matmul="""The product of matrices: of two vectors, their dot product; leading dimensions are broadcast.

    >>> torch.ones(2, 3).matmul(torch.ones(3)).shape
    torch.Size([2])
    """,
    mm="The product of two matrices.",
    mv="The product of a matrix and a vector.",
    vdot="The sum of the products of two vectors' elements, those of the first conjugated.",
)
