"""How many floating point operations calls take: those that PyTorch counts, by its formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.machine import TensorBase


def _pointwise(operands: list[Any], result: Any) -> int:
    return operands[0].numel()


def _product(operands: list[Any], result: Any) -> int:
    """A multiplication and an addition for each element of a row, for each element of the result."""
    return 2 * result.numel() * operands[0].shape[-1]


def _added_product(operands: list[Any], result: Any) -> int:
    return _product(operands[1:], result)


def _matmul(operands: list[Any], result: Any) -> int:
    return _product(operands, result) if min(t.dim() for t in operands) > 1 else 0


_FORMULAS: dict[str, Callable[[list[Any], Any], int]] = {
    "add": _pointwise, "mul": _pointwise, "mm": _product, "bmm": _product, "linear": _product, "matmul": _matmul,
    "addmm": _added_product, "baddbmm": _added_product,
    "conv2d": lambda operands, made: 2 * made.numel() * operands[1][0].numel() if made.dim() == 4 else 0,
}  # fmt: skip


def flops(name: str, arguments: Iterable[Any], result: Any) -> int:
    """The floating point operations of a call; 0 for those that PyTorch has no formula for."""
    formula = _FORMULAS.get(name)
    if formula is None or not isinstance(result, TensorBase):
        return 0
    return formula([a for a in arguments if isinstance(a, TensorBase)], result)
