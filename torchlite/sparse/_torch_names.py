"""Functions of sparse tensors that PyTorch has beside newer ones."""

from __future__ import annotations

from typing import Any

from ..backends.sparse import layout_name
from ..core.declare import Composite, describe, publish, publish_python, published
from ..core.machine import Tensor
from ..core.values import dt, missing_kernel_of
from ..operations.formulas import tensors
from ._family import is_compressed, is_coo


@published("resize_as_sparse_(Tensor self, Tensor the_template)")
def _resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    """Give a sparse tensor the size of another, and as many sparse dimensions."""
    if is_compressed(self) or is_compressed(the_template):
        for which, t in (("self", self), ("src", the_template)):
            if not is_compressed(t):
                raise RuntimeError(
                    f"resize_as_sparse_compressed_: {which}  expected sparse compressed tensor layout but got "
                    f"{layout_name(t)}"
                )
        if self.layout is not the_template.layout:
            raise RuntimeError(
                "resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got: self "
                f"({layout_name(self)}) and source ({layout_name(the_template)})"
            )
        return self.resize_(the_template.shape)
    return self.sparse_resize_(the_template.shape, the_template.sparse_dim(), the_template.dense_dim())


def _publish_copy(name: str) -> None:
    """The copy of what a sparse tensor is made of."""

    def call(self: Tensor) -> Tensor:
        if is_coo(self):
            raise missing_kernel_of(f"{name}_copy", self._backend.real)
        return getattr(self, name)().clone()

    publish_python(f"{name}_copy(Tensor self)", call, method=False)


_PARTS = ("ccol_indices", "col_indices", "crow_indices", "indices", "row_indices", "values")
for _name in _PARTS:
    _publish_copy(_name)


def _norm(self: Tensor, p: Any = 2, dim: Any = (), keepdim: bool = False, dtype: dt.dtype | None = None) -> Tensor:
    if not (is_coo(self) or is_compressed(self)):
        raise missing_kernel_of("native_norm" if dim == () else "native_norm.ScalarOpt_dim_dtype", self._backend.real)
    return tensors.norm(self, 2 if p is None else p, dim or None, keepdim, dtype=dtype)


publish(
    Composite("native_norm(Tensor self, Scalar p=2)", _norm),
    Composite(
        "native_norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, ScalarType? dtype)", _norm
    ),
    method=False,
)

describe(
    native_norm="`norm` of a sparse tensor.",
    **{f"{_name}_copy": f"A copy of the `{_name}` of a sparse tensor." for _name in _PARTS},
)
