"""Ops whose kernels need more of a backend than its array namespace."""

from .op import Op
from .view_op import ViewOp


class OnBackend:
    """The kernel gets its backend in place of the array namespace: only a backend can lay strides over memory."""

    on_backend = lays = True


class LaidView(OnBackend, ViewOp):
    """A view whose kernel says shape and strides."""


class LaidOp(OnBackend, Op):
    """An op whose kernel needs such views."""
