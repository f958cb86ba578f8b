"""How the tensors of several processes become one: the operations, and which dtypes they take."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.values import Array, Namespace, dt, warn
from ..core.values.pickling import bear_name

__all__ = ["ReduceOp", "Reduction", "fold", "reduction_of", "supports_complex"]


class RedOpType(enum.IntEnum):
    """The names of reductions."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)

    __str__ = enum.Enum.__str__
    __repr__ = enum.Enum.__repr__


class ReduceOp:
    """How the tensors of several processes become one: one of the names, with a factor where one is needed."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    def __init__(self, op: int, factor: Any = None) -> None:
        self.op, self.factor = RedOpType(op), factor

    def __eq__(self, other: object) -> bool:
        return self.op == (other.op if isinstance(other, ReduceOp) else other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __reduce__(self) -> Any:
        return ReduceOp, (self.op, self.factor)


for _name, _cls in (("RedOpType", RedOpType), ("ReduceOp", ReduceOp)):
    bear_name(_cls, "torch.distributed")
RedOpType.__qualname__ = "ReduceOp.RedOpType"


class _reduce_op:
    """The names of reductions, as an object of older programs."""

    def __getattr__(self, name: str) -> Any:
        members = {op.name: op for op in RedOpType if op is not RedOpType.UNUSED}
        known = members | {"__members__": members}
        if name not in known:
            raise AttributeError(f"'_reduce_op' object has no attribute '{name}'")
        warn(
            "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead",
            FutureWarning,
        )
        return known[name]


class _Rule(NamedTuple):
    combines: str  # the function of the array namespace that makes one of two
    takes: Callable[[dt.dtype], bool]
    refusal: str


_ANY = lambda d: True, ""
_REAL = lambda d: not d.is_complex, ""
_INTEGRAL = lambda d: d.category < dt.FLOAT, "Cannot use ReduceOp.{op.name} with non-integral dtype"
_INEXACT = lambda d: d.category >= dt.FLOAT, "result type Float can't be cast to the desired output type {of.legacy}"

_RULES = {
    RedOpType.SUM: _Rule("add", *_ANY),
    RedOpType.AVG: _Rule("add", *_INEXACT),
    RedOpType.PREMUL_SUM: _Rule("add", *_INEXACT),
    RedOpType.PRODUCT: _Rule("multiply", *_REAL),
    RedOpType.MIN: _Rule("minimum", *_REAL),
    RedOpType.MAX: _Rule("maximum", *_REAL),
    RedOpType.BAND: _Rule("bitwise_and", *_INTEGRAL),
    RedOpType.BOR: _Rule("bitwise_or", *_INTEGRAL),
    RedOpType.BXOR: _Rule("bitwise_xor", *_INTEGRAL),
}


class Reduction(NamedTuple):
    """A reduction of arrays: what is multiplied first, what makes one of two, and whether to take the mean at last."""

    name: str  # of the function of the array namespace that makes one of two
    factor: Any
    mean: bool

    def combine(self, xp: Namespace) -> Callable[..., Any]:
        return getattr(xp, self.name)


def reduction_of(op: Any, of: dt.dtype) -> Reduction:
    """What an operation comes to for tensors of a dtype; or the error that it does not take them."""
    if not isinstance(op, (ReduceOp, RedOpType)):
        raise TypeError(f"incompatible function arguments: a ReduceOp is expected, not {op!r}")
    kind, factor = (op.op, op.factor) if isinstance(op, ReduceOp) else (op, None)
    rule = _RULES.get(kind)
    if rule is None:
        raise ValueError(f"Invalid ReduceOp: {kind}")
    if of.is_complex and not supports_complex(kind):
        raise ValueError(f"all_reduce does not support {kind} on complex tensors")
    if not rule.takes(of):
        raise RuntimeError(rule.refusal.format(op=kind, of=of))
    if kind is RedOpType.PREMUL_SUM and factor is None:
        raise ValueError("PREMUL_SUM needs a factor: _make_nccl_premul_sum(factor) makes it")
    return Reduction(rule.combines, factor, kind is RedOpType.AVG)


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction takes complex tensors."""
    kind = reduceOp.op if isinstance(reduceOp, ReduceOp) else reduceOp
    return _RULES[kind].combines == "add"


def make_premul_sum(factor: Any) -> ReduceOp:
    """Multiply by a factor, a number or a tensor of one element, and add up."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


def fold(combine: Callable[..., Any], pieces: Sequence[Array], out: Array) -> None:
    """Combine arrays from the first to the last, into one that may be among them."""
    if len(pieces) == 1:
        if out is not pieces[0]:
            out[...] = pieces[0]
        return
    total, *rest = pieces
    for number, piece in enumerate(rest, 1):
        last = number == len(rest)
        total = combine(total, piece, out=out if last else total if number > 1 else None)
