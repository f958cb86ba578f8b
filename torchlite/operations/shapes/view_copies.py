"""What a view shows, in memory of its own: `torch.<view>_copy`, and `diag`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import LaidOp, Op, describe, publish, publish_python, published
from ...core.machine import LEADING, Tensor, into
from ...core.values import Array, Backend
from ..pointwise.complex_numbers import view_as_complex, view_as_real
from .as_strided import as_strided
from .cutting import split, split_with_sizes, unbind
from .orders import permute, t, transpose
from .shape import (
    Ints,
    alias,
    detach,
    expand,
    reshape,
    reshape_alias,
    squeeze,
    squeeze_dim,
    squeeze_dims,
    unsqueeze,
    view,
    view_dtype,
)
from .slicing import check_narrow, diag_embed, diagonal, select, slice_, slice_backward, unfold


def _into_each(op: Op, out: Any, values: Sequence[Any]) -> Any:
    result = Op.into(op, out, values)
    return None if isinstance(result, tuple) else result


def copy_of(viewed: Op, by_rows: bool = False) -> Op:
    """The op that copies what a view shows; it takes over the view's kernel and derivative.

    `by_rows` says that it is seen as if it lay row by row.
    """

    def kernel(backend: Backend, array: Array, *arguments: Any) -> Any:
        made = viewed.kernel_on(backend)(backend.copy(array, "C") if by_rows else array, *arguments)
        return [backend.copy(m, "C") for m in made] if isinstance(made, list) else backend.copy(made, "C")

    def copied(*values: Any) -> Any:
        shown = viewed.apply(values[0].contiguous() if by_rows else values[0], *values[1:])
        return tuple([s.clone() for s in shown]) if isinstance(shown, tuple) else shown.clone()

    name, overload = viewed.signature.name, viewed.signature.overload
    schema = viewed.signature.text.replace(name, f"{name}_copy", 1)
    if overload in ("Tensor", "int"):
        schema = schema.replace(f".{overload}", "", 1)
    return LaidOp(
        schema, kernel, {"self": viewed.rules[0][1].said} if viewed.rules else None, check=viewed.check, linear=True,
        exact_out=True, batch=copied, into=_into_each, shows=viewed.shows,
        node=f"{viewed.node_class.__name__}_copy",
    )  # fmt: skip


diagonal_copy = copy_of(diagonal)
publish(diagonal_copy, method=False)
publish(copy_of(view, by_rows=True), copy_of(view_dtype), method=False)
publish(copy_of(squeeze), copy_of(squeeze_dim), copy_of(squeeze_dims), method=False)
for _view in (
    alias, as_strided, detach, expand, permute, reshape_alias, select, slice_, split, split_with_sizes, t, transpose,
    unbind, unfold, unsqueeze, view_as_complex, view_as_real,
):  # fmt: skip
    publish(copy_of(_view), method=False)


def _narrow(backend: Backend, array: Array, dim: int, start: int, length: int) -> Any:
    size = array.shape
    if dim >= len(size) > 0:
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error "
            "message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if length < 0 < len(size):  # which is found out last
        start = check_narrow(size, dim, start, 0)
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size[dim]}).")
    start = check_narrow(size, dim, start, length)
    return backend.copy(slice_.kernel(backend, array, dim, start, start + length, 1), "C")  # type: ignore[misc, operator]


def _narrow_backward(g: Tensor, self_shape: Ints, dim: int, start: int, length: int) -> Tensor:
    start = check_narrow(self_shape, dim, start, length)
    return slice_backward.apply(g, self_shape, dim, start, start + length, 1)


narrow_copy = LaidOp(
    "narrow_copy(Tensor self, int dim, int start, int length)",
    _narrow,
    {"self": _narrow_backward},
    linear=True, exact_out=True, batch=LEADING,
)  # fmt: skip
publish(narrow_copy)


def _into_diag(out: Any, f: Callable[..., Any], values: Sequence[Any], name: str) -> Any:
    if values[0].dim() not in (1, 2):
        raise RuntimeError(f"Supports 1D or 2D tensors. Got {values[0].dim()}D")
    return into(out, f, values, name)


@published("diag(Tensor self, int diagonal=0)", into=_into_diag)
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with this diagonal."""
    if self.dim() == 1:
        return diag_embed.apply(self, diagonal, -2, -1)
    if self.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    return diagonal_copy.apply(self, diagonal, 0, 1)


publish_python("diagflat(Tensor self, int offset=0)", lambda self, offset: diag(reshape(self, (-1,)), offset))

describe(diagflat="The matrix that has the flattened tensor on a diagonal.")
describe(**{
    f"{_name}_copy": f"As `{_name}`, but a copy."
    for _name in (
        "alias", "as_strided", "detach", "diagonal", "expand", "narrow", "permute", "select", "slice", "split",
        "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view", "view_as_complex",
        "view_as_real",
    )
})  # fmt: skip
