"""Reductions of masked tensors: of what is there; a result is masked out where there was nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.machine import Tensor
from ...core.values import strided
from .. import _ops as functions

_NAMES = ("all", "amax", "amin", "argmax", "argmin", "mean", "norm", "prod", "std", "sum", "var")


def reduction_of(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """What gives data and mask in place of a function or method of torch; None where that is no reduction."""
    return _REDUCTIONS.get(getattr(func, "__name__", ""))


def _all(data: Tensor, dim: Any, *, keepdim: bool, mask: Tensor) -> Tensor:
    filled = data.bool().masked_fill(~mask, True)
    return filled.all() if dim is None else filled.all(dim, keepdim)


def _remaining(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Where something is left."""
    mask = mask.to_dense()
    if dim is None:
        return mask.any()
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return mask.any(dims, keepdim)


def _reduction(name: str) -> Callable[..., Any]:
    function = _all if name == "all" else getattr(functions, name)

    def reduce(input: Any, *args: Any, dim: Any = None, keepdim: bool = False, **more: Any) -> tuple[Tensor, Tensor]:
        if name == "norm":
            more["ord"], args = (more.pop("p", 2.0), args) if not args else (args[0], args[1:])
        if args:
            dim, args = args[0], args[1:]
        if args:
            keepdim, args = args[0], args[1:]
        data, mask = input.get_data(), input.get_mask()
        if data.layout is not strided and dim is None:
            data, mask = (t.coalesce().values() if t.is_sparse else t.values() for t in (data, mask))
        made = function(data, dim=dim, keepdim=keepdim, mask=mask, **more)
        if name.startswith("arg"):
            made = made.to(data.dtype)
        made = made.to_dense() if made.layout is not strided else made
        return made, _remaining(mask, dim, keepdim).expand(made.shape)

    reduce.__name__ = reduce.__qualname__ = name
    return reduce


_REDUCTIONS = {name: _reduction(name) for name in _NAMES}
