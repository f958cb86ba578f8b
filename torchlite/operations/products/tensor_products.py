"""Products of tensors of any rank: `outer`, `inner`, `kron`, `tensordot`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import publish_python, published
from ...core.declare.schema import taking
from ...core.machine import Tensor, TensorBase, into
from ...core.values import errors
from ..pointwise.arithmetic import mul
from ..shapes.shape import reshape, unsafe_view
from .matmul import into_exactly


def _vector(name: str, argument: str, t: Tensor) -> None:
    if t.dim() != 1:
        raise RuntimeError(f"{name}: Expected 1-D argument {argument}, but got {t.dim()}-D")


def outer(self: Tensor, vec2: Tensor) -> Tensor:
    """All products of an element of one vector and an element of the other."""
    return mul.flat(*_column_and_row(self, vec2))


def _column_and_row(self: Tensor, vec2: Tensor) -> tuple[Tensor, Tensor]:
    _vector("outer", "self", self)
    _vector("outer", "vec2", vec2)
    return reshape(self, (self.numel(), 1)), vec2


def _into_outer(out: Any, outer: Callable[..., Any], values: Sequence[Any], name: str) -> Any:
    if not isinstance(out, TensorBase):
        return into(out, outer, values, name)
    if name == "ger":
        errors.warn("torch.ger is deprecated and will be removed in a future PyTorch release. Use torch.outer instead.")
    return mul.given_out(out, _column_and_row(*values))


publish_python("outer(Tensor self, Tensor vec2)", outer, into=_into_outer)
publish_python("ger(Tensor self, Tensor vec2)", outer, into=_into_outer)


def _into_inner(out: Any, f: Callable[..., Any], values: Sequence[Any], name: str) -> Any:
    """The words of what it comes to."""
    return into_exactly(out, f, values, "tensordot" if all([t.dim() for t in values]) else name)


@published("inner(Tensor self, Tensor other)", into=_into_inner)
def inner(self: Tensor, other: Tensor) -> Tensor:
    """Products summed over the last dimension of both."""
    if not self.dim() or not other.dim():
        return mul.apply(self, other)
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}"
        )
    return _summed_over(self, other, (-1,), (-1,))


@published("kron(Tensor self, Tensor other)")
def kron(self: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product."""
    n = max(self.dim(), other.dim())
    a = (1,) * (n - self.dim()) + tuple(self.shape)
    b = (1,) * (n - other.dim()) + tuple(other.shape)
    left = unsafe_view.apply(self, tuple([size for s in a for size in (s, 1)]))
    right = unsafe_view.apply(other, tuple([size for s in b for size in (1, s)]))
    return unsafe_view.apply(mul.apply(left, right), tuple([x * y for x, y in zip(a, b)]))


@published("tensordot(Tensor a, Tensor b, any dims=2)", method=False, into=into_exactly)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over several dimensions: the last of `a` with the first of `b`, or those listed for each."""
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (tuple(range(-dims, 0)), tuple(range(dims)))
    if not isinstance(dims, (tuple, list)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
            f"but got dims={dims}"
        )
    over_a, over_b = dims
    return _summed_over(a, b, over_a, over_b)


@taking("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other)")
def _summed_over(a: Tensor, b: Tensor, over_a: tuple[int, ...], over_b: tuple[int, ...]) -> Tensor:
    if len(over_a) != len(over_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for x, y in zip(over_a, over_b):
        n, m = a.size(x), b.size(y)
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {x} and second has size {m} in "
                f"dim {y}"
            )
        if 1 in (n, m):
            a, b = (a.sum(x, True, dtype=a.dtype), b) if m == 1 else (a, b.sum(y, True, dtype=b.dtype))
    first, second = errors.wrap_dims(over_a, a.dim()), errors.wrap_dims(over_b, b.dim())
    keep_a = [d for d in range(a.dim()) if d not in first]
    keep_b = [d for d in range(b.dim()) if d not in second]
    inner_size = math.prod(a._array.shape[d] for d in first)
    shape_a, shape_b = [a._array.shape[d] for d in keep_a], [b._array.shape[d] for d in keep_b]
    left, last = a.permute([*keep_a, *over_a]), (*over_b, *keep_b)
    if math.prod(shape_a) == 1 == math.prod(shape_b):
        right = b.permute(last)
        if left.is_contiguous() and right.is_contiguous():
            return left.reshape((inner_size,)).dot(right.reshape((inner_size,))).reshape(shape_a + shape_b)
        return (left.squeeze() * right.squeeze()).sum(dtype=a.dtype).reshape(shape_a + shape_b)
    left = left.reshape((math.prod(shape_a), inner_size))
    right = b.permute(last).reshape((inner_size, math.prod(shape_b)))
    return left.mm(right).reshape(shape_a + shape_b)
