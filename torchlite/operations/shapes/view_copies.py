"""What a view shows, in memory of its own: `torch.<view>_copy`, and `diag`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare.on_backend import LaidOp
from ...core.declare.op import Op
from ...core.declare.publish import publish, publish_python
from ...core.machine.batching import LEADING
from ...core.machine.tensor import Tensor
from ...core.values.arrays import Array, Backend
from ..pointwise.complex_numbers import view_as_complex, view_as_real
from .joining import split, split_with_sizes, unbind
from .shape import (
    Ints,
    alias,
    as_strided,
    detach,
    expand,
    permute,
    reshape,
    reshape_alias,
    squeeze,
    squeeze_dim,
    squeeze_dims,
    t,
    transpose,
    unsqueeze,
    view,
    view_dtype,
)
from .slicing import check_narrow, diag_embed, diagonal, select, slice_, slice_backward, unfold


class CopyOf(Op):
    """The op that copies what a view shows; it takes over the view's kernel and derivative."""

    linear = True

    def __init__(self, viewed: Op, name: str | None = None) -> None:
        name_of, overload = viewed.signature.name, viewed.signature.overload
        schema = viewed.signature.text.replace(name_of, name or f"{name_of}_copy", 1)
        if overload in ("Tensor", "int"):
            schema = schema.replace(f".{overload}", "", 1)
        derivatives = {"self": viewed.rules[0][1].fn} if viewed.rules else None
        node = f"{viewed.node_class.__name__}_copy"
        super().__init__(schema, viewed.kernel, derivatives, check=viewed.check, node=node)
        self.viewed = viewed
        self.batch = self.copied

    def copied(self, *values: Any) -> Any:
        """The same by a view and a copy."""
        shown = self.viewed.apply(*values)
        return tuple([s.clone() for s in shown]) if isinstance(shown, tuple) else shown.clone()

    def find_kernel(self, backend: Backend) -> Callable[..., Any]:
        shown = self.viewed.kernels.get(backend) or self.viewed.find_kernel(backend)

        def kernel(*arguments: Any) -> Any:
            made = shown(*arguments)
            return [backend.copy(m, "C") for m in made] if isinstance(made, list) else backend.copy(made, "C")

        self.kernels[backend] = kernel
        return kernel

    def into(self, out: Any, values: Sequence[Any]) -> Any:
        result = super().into(out, values)
        return None if isinstance(result, tuple) else result


diagonal_copy = CopyOf(diagonal)
publish(diagonal_copy, method=False)
publish(CopyOf(view), CopyOf(view_dtype), method=False)
publish(CopyOf(squeeze), CopyOf(squeeze_dim), CopyOf(squeeze_dims), method=False)
for _view in (
    alias, as_strided, detach, expand, permute, reshape_alias, select, slice_, split, split_with_sizes, t, transpose,
    unbind, unfold, unsqueeze, view_as_complex, view_as_real,
):  # fmt: skip
    publish(CopyOf(_view), method=False)


def _narrow(backend: Backend, array: Array, dim: int, start: int, length: int) -> Any:
    start = check_narrow(array.shape, dim, start, length)
    return backend.copy(slice_.kernel(backend, array, dim, start, start + length, 1), "C")


def _narrow_backward(g: Tensor, self_shape: Ints, dim: int, start: int, length: int) -> Tensor:
    start = check_narrow(self_shape, dim, start, length)
    return slice_backward.apply(g, self_shape, dim, start, start + length, 1)


narrow_copy = LaidOp(
    "narrow_copy(Tensor self, int dim, int start, int length)",
    _narrow,
    {"self": _narrow_backward},
    linear=True,
    batch=LEADING,
)
publish(narrow_copy)


def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with this diagonal."""
    if self.dim() == 1:
        return diag_embed.apply(self, diagonal, 0, 1)
    if self.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    return diagonal_copy.apply(self, diagonal, 0, 1)


publish_python("diag(Tensor self, int diagonal=0)", diag)
publish_python("diagflat(Tensor self, int offset=0)", lambda self, offset: diag(reshape(self, (-1,)), offset))
