"""Ops whose kernels need more of a backend than its array namespace."""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op, ViewOp


class OnBackend:
    """The kernel gets its backend in place of the array namespace: only a backend can lay strides over memory."""

    kernel: Any
    kernels: dict[Any, Any]

    def find_kernel(self, backend: Any) -> Any:
        own = backend.kernels.get(self.name)
        kernel = self.kernels[backend] = partial(self.kernel, backend) if own is None else own
        return kernel


class LaidView(OnBackend, ViewOp):
    """A view whose kernel says shape and strides."""


class LaidOp(OnBackend, Op):
    """An op whose kernel needs such views."""
