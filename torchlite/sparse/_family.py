"""Ops whose kernels take tensors and give tensors, sparse or not; and what the rules of sparse backends are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backends.sparse import CompressedBackend, CooBackend
from ..core.declare import Op
from ..core.machine import Tensor, computed, wrap
from ..core.machine.operands import common_backend
from ..core.state import local, silent
from ..core.structs import BatchedParts
from ..core.values import Array, Backend, dt, not_implemented_for, strided
from ..core.values.layout import COMPRESSED, sparse_coo


class OfTensors(Op):
    """An op whose kernel gets its arguments, and gives its results, as tensors; below it nothing is recorded."""

    by_form = of_arrays = False

    def run_generally(self, state: Any, mode: Any, values: Sequence[Any]) -> Any:
        backend = common_backend(self, values)
        if backend.level > CompressedBackend.level:
            return backend.run(self, values)
        if self.check is not None:
            self.check(*values)
        results = state.within(silent(mode), self.kernel, *map(computed, values))
        if self.recorded and mode.records:
            self.remember(values, results if isinstance(results, tuple) else (results,))
        return results


def rule(names: str, *, in_place: bool = False) -> Callable[[Any], Any]:
    """Say what ops do on all sparse layouts."""

    def keep(f: Callable[..., Any]) -> Any:
        return CooBackend.rule(names, in_place=in_place)(CompressedBackend.rule(names, in_place=in_place)(f))

    return keep


def quiet(kernel: Callable[..., Any], *args: Any) -> Any:
    """The result of a kernel on arrays, without NumPy's warnings."""
    return local.state.quiet(kernel, *args)


def tensor(array: Array, backend: Backend) -> Tensor:
    """A tensor of the device over a fresh array."""
    array = array if array.__class__ is backend.Array else backend.asarray(array)
    return wrap(array if array.base is None else backend.copy(array, "C"), dt.of_numpy(array.dtype), backend)


def is_sparse(value: Any) -> bool:
    return isinstance(value, Tensor) and value._backend.layout is not strided


def is_coo(value: Any) -> bool:
    return isinstance(value, Tensor) and value._backend.layout is sparse_coo


def is_compressed(value: Any) -> bool:
    return isinstance(value, Tensor) and value._backend.layout in COMPRESSED


_SHOWN = ("_indices", "_values", "coalesce", "indices", "values")  # what PyTorch gives out as views


def held(t: Tensor, name: str) -> Any:
    """The array that is asked of by a method; where transforms run, that of the tensor of the device inside."""
    while t._backend.home.level:
        if isinstance(t._array, BatchedParts):
            instead = "; the fallback path doesn't work on out= or view ops." if name in _SHOWN else (
                ". We could not generate a fallback."
            )
            raise RuntimeError(f"Batching rule not implemented for aten::{name}{instead}")
        t = t._array.main
    return t._array


_PRECISE = {dt.float32, dt.float64, dt.complex64, dt.complex128}
_NARROW = {dt.float16, dt.bfloat16, dt.bool_, dt.complex32}
# The types that PyTorch's kernels of sparse tensors are not made for.
_LACKING = {
    "addmm_sparse_dense": {dt.bool_, dt.complex32},
    "bmm_sparse_dense": _NARROW,
    "cadd_sparse": _NARROW - {dt.bfloat16},
    "cpublas_axpy_impl": {dt.complex32},
    "addcmul_cpu_out": {dt.bool_},
    "mul_out_sparse": {dt.bool_},
    "sspmm": _NARROW,
    **dict.fromkeys(("log_softmax", "softmax"), {*dt.DTYPES} - {dt.float32, dt.float64}),
    **dict.fromkeys(
        ("addmm_out_sparse_csr_impl_mkl", "addmm_out_sparse_csr_impl_mkl_sparse", "addmv_out_sparse_csr_impl_mkl",
         "sparse_matmul"),
        {*dt.DTYPES} - _PRECISE,
    ),
}  # fmt: skip


def check_kernel(name: str, d: dt.dtype) -> None:
    """Refuse values of a type that PyTorch's kernel of this name is not made for."""
    if d in _LACKING[name]:
        raise not_implemented_for(name, d)


def unknown(g: Tensor) -> Any:
    """The derivative of ops that PyTorch has none for: their nodes say so."""
    raise RuntimeError("there is no derivative")
