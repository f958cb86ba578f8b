"""What all of linear algebra shares: the table of `torch.linalg`, what operands must be, how results lie in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...backends.base import Backend
from ...core.declare import publish, publish_python, published_whole
from ...core.machine import Tensor, into, moves, requires_grad
from ...core.state import is_watched, look_past_forms
from ...core.values import Array, Namespace, Told, broadcast_shapes, contiguous_strides, dt, not_implemented_for
from ..products.exact import Exact
from ..products.matmul import into_exactly
from ..vocabulary import INEXACT

F = TypeVar("F", bound="Callable[..., Any]")

linalg: dict[str, Callable[..., Any]] = {}


class _LinAlgError(Told, RuntimeError):
    """A matrix has not the property that its factorisation needs."""

    __module__ = "torch._C"


LinAlgError = _LinAlgError


def offer(schema: str, f: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    """Publish a composite as a function of `torch.linalg`."""
    call = publish_python(schema, f, function=False, method=False, **more)
    linalg[call.__name__.removeprefix("linalg_")] = call
    return call


def offered(schema: str, **more: Any) -> Callable[[F], F]:
    """Publish the function beneath as a function of `torch.linalg`."""

    def offer_(f: F) -> F:
        offer(schema, f, **more)
        return f

    return offer_


def offer_op(*overloads: Any) -> Callable[..., Any]:
    """Publish an op, or several overloads of one, as a function of `torch.linalg`."""
    call = publish(*overloads, function=False, method=False)
    linalg[overloads[0].signature.name.removeprefix("linalg_")] = call
    return call


def into_laid(out: Any, f: Callable[..., Any], values: Sequence[Any], name: str) -> Any:
    """The `out=` form of what is computed there, where the dtype is the same: resized, it lies as the result does."""
    return into(out, f, values, name, elementwise=getattr(out, "dtype", None) is values[0].dtype)


# ---- what operands must be


def check_matrices(name: str, t: Tensor, called: str = "A") -> None:
    if t.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {called} must have at least 2 dimensions.")


def check_square(name: str, t: Tensor, called: str = "A") -> None:
    check_matrices(name, t, called)
    rows, columns = t._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: {called} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def check_inexact(name: str, t: Tensor, low: bool = False) -> None:
    if t.dtype.category < dt.FLOAT:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {t.dtype.legacy}")
    if not low and (t.dtype in dt.WIDE or t.dtype in dt.EIGHT_BITS):
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {t.dtype.legacy}")


def check_kernel(label: str, t: Tensor) -> None:
    """Refuse what LAPACK does not compute with, in the name of PyTorch's kernel."""
    if t.dtype not in INEXACT or t.dtype in dt.WIDE:
        raise not_implemented_for(label, t.dtype)


def square(name: str, low: str | None = None) -> Callable[..., None]:
    """A check for square matrices of floating-point numbers; `low` names the kernel that refuses the narrow ones."""

    def check(t: Tensor, *_: Any) -> None:
        check_square(name, t)
        check_inexact(name, t, low is not None)
        check_kernel(low or name, t)

    return check


def any_matrices(name: str, low: str) -> Callable[..., None]:
    """The same for matrices of any shape."""

    def check(t: Tensor, *_: Any) -> None:
        check_matrices(name, t)
        check_inexact(name, t, low=True)
        check_kernel(low, t)

    return check


def check_equation(name: str, a: Tensor, b: Tensor, left: bool, called: str = "A", vectors: bool = False) -> None:
    shape = (*b._array.shape, 1) if vectors else b._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    (m, n), (p, q) = a._array.shape[-2:], shape[-2:]
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected {called} and B to have the same dtype, but found {called} of type {a.dtype.legacy} and "
            f"B of type {b.dtype.legacy} instead"
        )
    if n != (p if left else q):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {equation} ({m}x{n} and {p}x{q})")


def common_batch(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors of matrices with their batches broadcast together."""
    batch = broadcast_shapes(a._array.shape[:-2], b._array.shape[:-2])
    return spread(a, (*batch, *a._array.shape[-2:])), spread(b, (*batch, *b._array.shape[-2:]))


def spread(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`t` expanded to this shape; `t` itself where it has it."""
    return t if t._array.shape == shape else t.expand(shape)


def differentiated(t: Tensor) -> bool:
    """Whether somebody may ask for derivatives of what is made of `t`."""
    look_past_forms()
    return bool(t._backend.level) or requires_grad(t) or moves(t) or is_watched()


# ---- kernels


class ByColumns(Exact):
    """An op whose kernel leaves matrices column by column, where there are no elements too, and in a resized `out`."""

    def into(self, out: Any, values: Sequence[Any]) -> Any:
        return into_exactly(out, self.apply, values, self.signature.name)

    def empty(self, array: Array, backend: Backend) -> Any:
        shape = array.shape
        if len(shape) < 2 or array.dtype.kind in "iu":  # counts and pivots
            return super().empty(array, backend)
        *batch, rows, cols = shape
        *steps, across, down = contiguous_strides((*batch, cols, rows))
        return backend.lay(backend.empty(shape, array.dtype), shape, (*steps, down, across))


def columns(xp: Namespace, a: Array) -> Array:
    """The same matrices in fresh memory, column by column, as LAPACK leaves them."""
    turned = a.swapaxes(-1, -2)
    made = xp.empty(turned.shape, a.dtype)
    made[...] = turned
    return made.swapaxes(-1, -2)


def adjoint(a: Any) -> Any:
    return a.swapaxes(-1, -2).conj()


def one_by_one(a: Any, dims: int = 2) -> Any:
    """The same matrices (or vectors) in a row: a batch of one dimension."""
    batch, shape = a.shape[: a.ndim - dims], a.shape[a.ndim - dims :]
    return a.reshape((math.prod(batch), *shape))


def diagonal(a: Any) -> Any:
    return a.diagonal(0, -2, -1)


def complaint(name: str, text: str, batched: bool, element: int) -> str:
    """What an error says of a matrix, or of an element of a batch of them."""
    return f"{name}: {f'(Batch element {element}): ' if batched else ''}{text}"


# What is said of a matrix by a function in whose name there is one of these; `info` is where it came to an end.
_ENDS = {
    "inv": (
        "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
    ),
    "solve": "The solver failed because the input matrix is singular.",
    "cholesky": (
        "The factorization could not be completed because the input is not positive-definite (the leading minor of "
        "order {} is not positive-definite)."
    ),
    "lu_factor": (
        "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform "
        "the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    ),
    "ldl_factor": "The diagonal element {} of D is zero, so that it cannot be divided by.",
}


def check_info(info: Any, name: str | None) -> None:
    """Raise, in the words of a function, if one asks for it, for the first matrix whose `info` is not 0."""
    if name is None:
        return
    numbers = info.reshape(-1).tolist()
    element = next((i for i, n in enumerate(numbers) if n), None)
    if element is not None:
        kind = next(kind for kind in _ENDS if kind in name)
        error = RuntimeError if kind.endswith("factor") else LinAlgError
        raise error(complaint(name, _ENDS[kind].format(numbers[element]), info.ndim > 0, element))


@published_whole(
    "_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix)", method=False, by_form=False
)
def check_errors(info: Tensor, api_name: str, is_matrix: bool) -> None:
    """Raise, in the words of a function, for the first matrix whose `info` is not 0."""
    if not info.is_meta:
        check_info(info._array, api_name)


def checked_apart(compute: Callable[..., Any], first: bool = False) -> Callable[..., Callable[[], Any] | None]:
    """What dispatch modes see of an op that is told at last who refuses what has no result: `compute`, and a check.

    It gives all that was computed, or the `first` part alone.
    """

    def made_of(*values: Any) -> Callable[[], Any] | None:
        *given, caller = values

        def parts() -> Any:
            made = compute(*given)
            check_errors(made[-1], caller, given[0].dim() == 2)
            return made[0] if first else made

        return None if caller is None or caller.endswith("_ex") else parts

    return made_of


def decomposing(xp: Namespace, compute: Callable[[Any], Any], a: Array, name: str, text: str) -> Any:
    """`converging`, with NaN for all that comes of a matrix with infinities, of which some libraries make no end."""
    wild = xp.isinf(a).any((-2, -1)) & ~xp.isnan(a).any((-2, -1))
    if not wild.any():
        return converging(xp, compute, a, name, text)
    made = converging(xp, compute, xp.where(wild[..., None, None], a.dtype.type(0), a), name, text)
    for part in made if isinstance(made, tuple) else (made,):
        part[wild] = math.nan
    return made


def converging(xp: Namespace, compute: Callable[[Any], Any], a: Array, name: str, text: str) -> Any:
    """`compute(a)`, or an error that tells the first matrix for which it does not come to an end."""
    try:
        return compute(a)
    except xp.linalg.LinAlgError:
        for element, m in enumerate(one_by_one(a)):
            try:
                compute(m)
            except xp.linalg.LinAlgError:
                raise LinAlgError(complaint(name, text, a.ndim > 2, element)) from None
        raise
