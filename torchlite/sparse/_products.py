"""Products of sparse matrices with dense ones and with each other."""

from __future__ import annotations

from typing import Any, NoReturn

from ..backends.sparse import NAMES, CompressedBackend, Coo, CooBackend, coo, layout_name, like
from ..core.declare import publish
from ..core.machine import Tensor, computed
from ..core.values import Array, Backend, dt, missing_kernel_of, not_implemented_for
from ..core.values.layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from ..kernels import sparse as kernels
from ..operations.formulas import tensors
from ..operations.products.exact import Product
from ..operations.products.matmul import adjoint
from ..operations.vocabulary import scaled
from ._compressed import as_coo, major
from ._coo import coalesced
from ._elementwise import copy
from ._family import OfTensors, check_kernel, is_compressed, is_coo, is_sparse, quiet, rule, tensor
from ._plans import ready_to_add

# ---- the one product that the others are made of


def product(places: tuple[Array, Array, Array], dense: Array, count: int, backend: Backend, fused: bool) -> Tensor:
    """A matrix of so many rows, with values at these places, times a dense one or a vector."""
    return tensor(quiet(kernels.product, backend.xp, *places, dense, count, fused), backend)


def _arrays(t: Tensor) -> tuple[Array, Array, Array]:
    """The rows, the columns and the values of a sparse matrix, in any order."""
    if is_compressed(t):
        array = t._array
        if not array.blocked:
            lines, plain = major(array), array.plain._array
            return (lines, plain, array.values._array) if array.by_rows else (plain, lines, array.values._array)
        t = as_coo(t)
    rows, columns = t._array.indices._array
    return rows, columns, t._array.values._array


def places_of(t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same as tensors."""
    rows, columns, values = _arrays(t)
    backend = t._backend.home
    return tensor(rows, backend), tensor(columns, backend), tensor(values, backend)


def by_rows(t: Tensor) -> Array:
    """The array of a dense tensor, row by row in memory."""
    array = computed(t)._array
    return array if array.flags.c_contiguous else t._backend.home.xp.ascontiguousarray(array)


def check_product(a: Tensor, b: Tensor, name: str = "addmm") -> None:
    if is_coo(a):
        of_sparse, of_dense = ("", " (dense)") if name == "addmm" else (": Argument #2", "")
        for dims, argument in ((a._array.sparse_dim, of_sparse), (b.dim(), of_sparse and ": Argument #3")):
            if dims != 2:
                raise RuntimeError(f"{name}{argument}: matrices expected, got {dims}D tensor")
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(f"{name}: Argument #3{of_dense}: Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    _check_inner(a, b)
    _check_types(a, b)


def _check_types(a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        _check_values(a)
        raise RuntimeError(f"expected scalar type {a.dtype.legacy} but found {b.dtype.legacy}")


def _check_inner(a: Tensor, b: Tensor) -> None:
    if a._array.shape[1] != b._array.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )


def _sparse_dense(a: Tensor, b: Tensor) -> Tensor:
    """A sparse matrix times a dense one."""
    check_product(a, b)
    return _times(a, by_rows(b))


def _check_values(t: Tensor, of_vector: bool = False) -> None:
    if not is_coo(t):
        check_kernel(f"add{'mv' if of_vector else 'mm'}_out_sparse_csr_impl_mkl", t.dtype)
    elif t._array.nnz:
        check_kernel("addmm_sparse_dense", t.dtype)


def _times(a: Tensor, dense: Array) -> Tensor:
    array, backend = a._array, a._backend.home
    _check_values(a, dense.ndim == 1)
    if a._backend.layout is sparse_csr and array.compressed._array.ndim == 1:
        parts = array.compressed._array, array.plain._array, array.values._array
        return tensor(quiet(kernels.product_of_rows, backend.xp, *parts, dense), backend)
    return product(_arrays(a), dense, array.shape[0], backend, is_coo(a))


def _dense_sparse(a: Tensor, b: Tensor) -> Tensor:
    """A dense matrix times a sparse one: the same with the roles of rows and columns exchanged."""
    if is_coo(b):
        check_product(b.t(), a.t())
    _check_inner(a, b)
    _check_values(b)
    rows, columns, values = _arrays(b)
    return product((columns, rows, values), by_rows(a.t()), b.shape[1], b._backend.home, is_coo(b)).t()


def _rows(t: Tensor) -> tuple[Any, Any, Any]:
    """A sparse matrix as arrays of compressed rows."""
    if t.layout is sparse_csr:
        return tuple([part._array for part in t._array.parts()])
    array: Coo = coalesced((as_coo(t) if is_compressed(t) else t)._array)
    rows, columns = array.indices._array
    pointers = kernels.pointers(array.indices._backend.home.xp, rows, array.shape[0])
    return pointers, columns, array.values._array


def _sparse_sparse(a: Tensor, b: Tensor) -> Tensor:
    """The product of two sparse matrices, as coordinates."""
    _check_inner(a, b)
    if a.dtype is not b.dtype:
        raise RuntimeError(f"mat1 dtype {a.dtype.legacy} does not match mat2 dtype {b.dtype.legacy}")
    check_kernel("sparse_matmul" if is_coo(a) else "addmm_out_sparse_csr_impl_mkl_sparse", a.dtype)
    backend = a._array.values._backend.home
    xp = backend.xp
    starts, columns, values = quiet(kernels.sparse_product, xp, *_rows(a), _rows(b), b.shape[1])
    rows = kernels.rows_of(xp, starts, columns.size)
    indices = tensor(xp.stack([rows, columns]), backend)
    return coo(indices, tensor(values, backend), (a.shape[0], b.shape[1]), True)


_BLOCKED = (sparse_bsr, sparse_bsc)
# The layouts of the factors that there are products of, by that of what they are added to.
_FACTORS = {
    strided: {
        *[(own, strided) for own in (sparse_coo, sparse_csr, sparse_csc, sparse_bsr)],
        *[(strided, own) for own in (sparse_coo, sparse_csr, sparse_csc, sparse_bsc)],
        (sparse_csr, sparse_csr), (sparse_csr, sparse_csc), (sparse_csc, sparse_csc),
    },
    sparse_coo: {(sparse_coo, sparse_coo)},
    sparse_csr: {(sparse_csr, sparse_csr), (sparse_csr, sparse_csc), (sparse_csc, sparse_csr)},
    sparse_csc: {(sparse_csc, sparse_csr), (sparse_csc, sparse_csc)},
}  # fmt: skip


def _refuse_blocks(t: Tensor) -> None:
    if t._backend.layout in _BLOCKED and len(set(t._array.blocksize)) > 1:
        raise RuntimeError("MKL Sparse doesn't support matrices with non-square blocks.")


def _check_factors(base: layout, a: Tensor, b: Tensor) -> None:
    if (a._backend.layout, b._backend.layout) not in _FACTORS.get(base, ()):
        raise RuntimeError(
            f"addmm: computation on CPU is not implemented for {NAMES.get(base, 'Strided')} + {layout_name(a)} @ "
            f"{layout_name(b)}"
        )
    _refuse_blocks(a)
    _refuse_blocks(b)


def _product_of(a: Tensor, b: Tensor) -> Tensor:
    if not is_sparse(b):
        return _sparse_dense(a, b)
    if is_sparse(a):
        made = _sparse_sparse(a, b)
        return made if is_coo(a) else made.to_sparse(layout=sparse_csr)
    return _dense_sparse(a, b)


@rule("mm matmul")
def product_of(a: Tensor, b: Tensor) -> Tensor:
    base = a.layout if is_sparse(b) else strided
    if base is strided and _is_nothing(a, b):
        _check_inner(a, b)
        return tensors.zeros((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    if base in _BLOCKED:
        raise RuntimeError(
            f"zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got {layout_name(a)}"
        )
    _check_factors(base, a, b)
    return _product_of(a, b)


@rule("addmm")
def _addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    if is_compressed(self) and self._array.blocked:
        raise self._backend.real.missing("addmm.out", makes=True)
    return _plus_product(self, mat1, mat2, beta, alpha)


@CompressedBackend.rule("addmm", in_place=True)
def _addmm_in_place(self: Tensor, *factors: Any) -> None:
    self._backend.real.write(self._array, _plus_product(self, *factors)._array)


def _is_nothing(a: Tensor, b: Tensor) -> bool:
    """Whether a product of compressed matrices has no values to be made of, so that no layouts are asked for."""
    return any([is_compressed(t) and not (t._array.nnz and t._array.size) for t in (a, b)])


def _plus_product(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    if is_coo(self):
        raise RuntimeError("addmm_sparse_dense: expected strided result tensor, got tensor with layout Sparse")
    if not is_sparse(self) and not is_compressed(mat1) and is_coo(mat2):
        raise RuntimeError(
            "addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, got "
            f"'mat1' with layout {layout_name(mat1)} and 'mat2' with layout Sparse"
        )
    if _is_nothing(mat1, mat2):
        _check_inner(mat1, mat2)
        return (self if is_sparse(self) else self.expand((mat1.shape[0], mat2.shape[1]))) * beta
    _check_factors(self.layout, mat1, mat2)
    if is_coo(mat1):
        check_product(mat1, mat2)
        self = self.expand((mat1.shape[0], mat2.shape[1]))
    made = _product_of(mat1, mat2)
    if is_coo(mat1) and self.dtype is not mat1.dtype:
        raise RuntimeError(f"expected scalar type {mat1.dtype.legacy} but found {self.dtype.legacy}")
    if is_sparse(self):
        return made.to_sparse(layout=self.layout) * alpha + self * beta
    if is_sparse(made):
        made = made.to_dense()
    made = made if alpha == 1 else made * alpha
    return made if beta == 0 else made + (self if beta == 1 else self * beta)


@CompressedBackend.rule("baddbmm")
def _baddbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any) -> NoReturn:
    """The result is made like the second factor, and what is added is copied into it first."""
    backend = next(t._backend.real for t in (self, batch1, batch2) if is_compressed(t))
    if is_compressed(batch2):
        if batch2._array.blocked:
            raise backend.missing("baddbmm.out", makes=True)
        copy(tensors.zeros_like(batch2), self)
    elif is_compressed(self):
        raise RuntimeError("copy_sparse_compressed_ expected sparse compressed tensor layout but got Strided")
    raise backend.missing("baddbmm.out", makes=False)


@rule("mv")
def _mv(self: Tensor, vec: Tensor) -> Tensor:
    if (self.dim(), vec.dim()) != (2, 1):
        raise RuntimeError(
            f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: {self.dim()}Tensor Dim: {vec.dim()}"
        )
    if self._array.shape[1] != vec._array.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    if self._backend.layout is sparse_bsc:
        raise RuntimeError("torch.addmv: operation not supported for mat with SparseBsc layout")
    _refuse_blocks(self)
    if is_sparse(vec):
        return product_of(self, vec.unsqueeze(1)).squeeze(1)
    if is_coo(self):
        check_product(self, vec.unsqueeze(1))
    _check_types(self, vec)
    return _times(self, by_rows(vec))


@CompressedBackend.rule("addmv")
def _addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: Any, alpha: Any) -> Tensor:
    made = _mv(mat, vec) * alpha
    return made if beta == 0 else made + self * beta


@CooBackend.rule("bmm")
def _bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """A batch of sparse matrices as one, its blocks on the diagonal."""
    if is_sparse(mat2):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    check_kernel("bmm_sparse_dense", self.dtype)
    count, rows, inner = self.shape
    batch, row, column = self._array.indices._array
    dense = by_rows(mat2.reshape((count * inner, mat2.shape[2])))
    places = batch * rows + row, batch * inner + column, self._array.values._array
    made = product(places, dense, count * rows, self._backend.home, True)
    return made.reshape((count, rows, mat2.shape[2]))


# ---- torch.sparse.mm and addmm: gradients of sparse operands are sparse


def sampled(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    """The values of `a @ b` where a sparse matrix has some."""
    backend = a._backend.home
    rows, columns, _ = _arrays(mask)
    across = backend.xp.ascontiguousarray(computed(b)._array.T)
    return tensor(quiet(kernels.samples, backend.xp, rows, columns, by_rows(a), across), backend)


def _pattern_of(t: Tensor) -> Tensor:
    return t.detach().coalesce() if is_coo(t) else t


def _of_mat1(g: Tensor, mat1: Tensor, mat2: Tensor, alpha: Any) -> Tensor:
    if is_compressed(mat1) and mat1._array.blocked:
        raise RuntimeError(
            f"sparse_addmm_sparse_backward: unsupported combination of layouts, grad: {layout_name(g)}, mat1: "
            f"{layout_name(mat1)}, mat2: {layout_name(mat2)}"
        )
    if not is_sparse(mat1):
        return scaled(g.mm(adjoint(mat2)), alpha)
    if is_sparse(g) or is_sparse(mat2):
        return scaled(g.mm(adjoint(mat2)), alpha).sparse_mask(_pattern_of(mat1))
    return sparse_samples.apply(g, adjoint(mat2), _pattern_of(mat1), alpha)


def _of_mat2(g: Tensor, mat1: Tensor, mat2: Tensor, alpha: Any) -> Tensor:
    made = scaled(adjoint(mat1).mm(g), alpha)
    return made.sparse_mask(_pattern_of(mat2)) if is_sparse(mat2) else made


sparse_samples = OfTensors(
    "_sparse_samples(Tensor mat1, Tensor mat2, Tensor mask, Scalar alpha=1)",
    lambda a, b, mask, alpha: like(mask, mask._array.with_values(scaled(sampled(a, b, mask), alpha))),
    {
        "mat1": lambda g, mat2, alpha: scaled(g.mm(adjoint(mat2)), alpha),
        "mat2": lambda g, mat1, alpha: scaled(adjoint(mat1).mm(g), alpha),
        "mask": None,
    },
)  # fmt: skip


def _alone(base: layout, a: Tensor, b: Tensor, alpha: Any) -> Tensor:
    """A product that nothing is added to."""
    _check_factors(base, a, b)
    return scaled(_product_of(a, b), alpha)


sparse_addmm = OfTensors(
    "_sparse_addmm(Tensor? self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)",
    lambda self, a, b, beta, alpha: (
        tensors.addmm(self, a, b, beta=beta, alpha=alpha) if beta
        else _alone(strided if self is None else self.layout, a, b, alpha)
    ),
    {"self": lambda g, beta: scaled(g, beta), "mat1": _of_mat1, "mat2": _of_mat2}, node="SparseAddmmBackward0",
    by_form=True, levels=Product.levels, ready=lambda op, values, tensors: ready_to_add(*values),
)  # fmt: skip
sparse_sparse_matmul = OfTensors(
    "_sparse_sparse_matmul(Tensor self, Tensor other)", product_of,
    {
        "self": lambda g, self, other: g.mm(adjoint(other)).sparse_mask(_pattern_of(self)),
        "other": lambda g, self, other: adjoint(self).mm(g).sparse_mask(_pattern_of(other)),
    },
)  # fmt: skip
publish(sparse_sparse_matmul, method=False)


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices, of which one or both are sparse; or their products, reduced along rows."""
    if reduce is not None:
        return mm_reduced(mat1, mat2, reduce)
    if is_sparse(mat1) and is_sparse(mat2):
        if is_coo(mat1) and is_coo(mat2):
            return sparse_sparse_matmul.apply(mat1, mat2)
        base = tensors.zeros((mat1.shape[0], mat2.shape[1]), dtype=mat1.dtype, layout=mat2.layout, device=mat1.device)
        return sparse_addmm.apply(base, mat1, mat2, 0, 1)
    if is_sparse(mat1):
        return sparse_addmm.apply(None, mat1, mat2, 0, 1)
    return sparse_addmm.apply(None, mat2.transpose(0, 1), mat1.transpose(0, 1), 0, 1).transpose(0, 1)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """A matrix plus the product of a sparse and a dense one."""
    return sparse_addmm.apply(mat, mat1, mat2, beta, alpha)


# ---- products reduced otherwise than by their sum


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _reduced(self: Tensor, other: Tensor, reduce: str) -> tuple[Tensor, Tensor]:
    """For every row the reduced products, and which value each is the largest (or the smallest) of."""
    rows, columns, values = places_of(self)
    count = self.shape[0]
    products = values.unsqueeze(1) * other.index_select(0, columns)
    out = products.new_zeros((count, other.shape[1]))
    index = rows.unsqueeze(1).expand(products.shape)
    out = out.scatter_reduce(0, index, products, reduce, include_self=False)
    if reduce not in ("amax", "amin"):
        return out, rows
    best = (products == out.index_select(0, rows)).to(dt.int64)
    numbers = tensors.arange(rows.shape[0], device=rows.device).unsqueeze(1)
    first = tensors.where(best.bool(), numbers, rows.shape[0]).to(dt.int64)
    chosen = tensors.full((count, other.shape[1]), rows.shape[0], dtype=dt.int64, device=rows.device)
    return out, chosen.scatter_reduce(0, index, first, "amin")


def _of_reduced(grads: Any, needs: Any, self: Tensor, other: Tensor, reduce: str, result1: Tensor) -> tuple[Any, ...]:
    g = grads[0]
    rows, columns, values = places_of(self)
    if reduce == "mean":
        counts = tensors.bincount(rows, minlength=self.shape[0]).clamp_min(1).to(g.dtype)
        g = g / counts.unsqueeze(1)
    elif reduce == "prod":
        raise RuntimeError("derivative for aten::_sparse_mm_reduce_impl is not implemented")
    each = g.index_select(0, rows)
    if reduce in ("amax", "amin"):
        numbers = tensors.arange(rows.shape[0], device=rows.device).unsqueeze(1)
        each = each * (result1.index_select(0, rows) == numbers)
    to_self = like(self, self._array.with_values((each * other.index_select(0, columns)).sum(1))) if needs[0] else None
    to_other = None
    if needs[1]:
        to_other = tensors.zeros_like(other).index_add(0, columns, each * values.unsqueeze(1))
    return to_self, to_other


_mm_reduce = OfTensors(
    "_sparse_mm_reduce_impl(Tensor self, Tensor other, str reduce) -> (Tensor result0, Tensor result1)", _reduced,
    _of_reduced, differentiable=1,
)  # fmt: skip


def mm_reduced(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    """The products of a sparse matrix with a dense one, reduced along the rows."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if is_compressed(mat1) and mat1.layout is not sparse_csr:
        raise RuntimeError(f"sparse_mm_reduce: expect self to be SparseCsr, got {layout_name(mat1)}")
    if not is_compressed(mat1):
        raise missing_kernel_of("_sparse_mm_reduce_impl", mat1._backend.real)
    if mat1.dtype not in dt.FLOATS and mat1._nnz():
        raise not_implemented_for("spmm_reduce_kernel", mat1.dtype)
    if is_sparse(mat2):
        raise RuntimeError(
            f"Expected tensor to have Strided Layout, but got tensor with {layout_name(mat2)} Layout (while checking "
            "arguments for sparse_mm_reduce)"
        )
    result: Tensor = _mm_reduce.apply(mat1, mat2, reduce)[0]
    return result
