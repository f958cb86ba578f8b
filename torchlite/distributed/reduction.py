"""How the tensors of several processes become one: the operations, and which dtypes they take."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..core.values import Array, Namespace, bear_name, dt, warn


class RedOpType(enum.IntEnum):
    """The names of reductions."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    __str__ = enum.Enum.__str__
    __repr__ = enum.Enum.__repr__

    def __call__(self, factor: Any) -> ReduceOp:
        """PREMUL_SUM with a factor: a number, or a tensor of one element."""
        if self is not RedOpType.PREMUL_SUM:
            raise RuntimeError(f"Only PREMUL_SUM supports calling with a factor, got {self}")
        count = getattr(factor, "numel", lambda: 1)()
        if count != 1:
            raise RuntimeError(f"Check failed: tensor_factor.numel() == 1 ({count} vs. 1). ")
        made = ReduceOp(self)
        made._factor = factor if hasattr(factor, "numel") else float(factor)
        return made


class _ReduceOpMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, RedOpType) or super().__instancecheck__(instance)


class ReduceOp(metaclass=_ReduceOpMeta):
    """How the tensors of several processes become one: one of the names, with a factor where one is needed."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    _factor: Any = None

    def __init__(self, op: Any, /) -> None:
        if not isinstance(op, RedOpType):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. torch._C._distributed_c10d.ReduceOp(arg0: c10d::ReduceOp::RedOpType)\n\n"
                f"Invoked with: {op!r}"
            )
        self.op = op

    @property
    def factor(self) -> Any:
        """What tensors are multiplied by before they are added up."""
        if self.op is not RedOpType.PREMUL_SUM:
            raise RuntimeError("Only PREMUL_SUM supports accessing factor")
        return self._factor

    def __eq__(self, other: object) -> bool:
        return self.op == (other.op if type(other) is ReduceOp else other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __reduce__(self) -> Any:
        return (self.op, (self._factor,)) if self._factor is not None else (ReduceOp, (self.op,))


for _name, _cls in (("RedOpType", RedOpType), ("ReduceOp", ReduceOp)):
    bear_name(_cls, "torch.distributed.distributed_c10d")
RedOpType.__qualname__ = "ReduceOp.RedOpType"


class _reduce_op:
    """The names of reductions, as an object of older programs."""

    def __getattr__(self, name: str) -> Any:
        members = {op.name: op for op in RedOpType}
        known = members | {"__members__": members}
        if name not in known:
            raise AttributeError(f"'_reduce_op' object has no attribute '{name}'")
        warn(
            "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead",
            FutureWarning,
        )
        return known[name]


_MESSAGE = 1 << 20  # bytes that gloo sends at a time


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
    if not isinstance(op, ReduceOp):
        raise TypeError(
            "(): incompatible function arguments. The following argument types are supported:\n"
            "    1. (self: torch._C._distributed_c10d.AllreduceOptions, arg0: torch._C._distributed_c10d.ReduceOp) -> "
            f"None\n\nInvoked with: {op!r}"
        )
    kind, factor = (op, None) if isinstance(op, RedOpType) else (op.op, op._factor)
    rule = _RULES[kind]
    if of.is_complex and not supports_complex(kind):
        raise ValueError(f"all_reduce does not support {kind} on complex tensors")
    if not rule.takes(of):
        raise RuntimeError(rule.refusal.format(op=kind, of=of))
    if kind is RedOpType.PREMUL_SUM and factor is None:
        raise ValueError("PREMUL_SUM needs a factor: ReduceOp.PREMUL_SUM(factor)")
    return Reduction(rule.combines, factor, kind is RedOpType.AVG)


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction takes complex tensors."""
    kind = reduceOp if isinstance(reduceOp, RedOpType) else reduceOp.op
    return _RULES[kind].combines == "add"


def make_premul_sum(factor: Any) -> ReduceOp:
    """Multiply by a factor, a number or a tensor of one element, and add up."""
    return RedOpType.PREMUL_SUM(factor)


def fold_as_ring(combine: Callable[..., Any], pieces: Sequence[Array], out: Array, at: int, total: int) -> None:
    """Combine arrays, which lie from one element on of so many, into one that may be among them: as gloo's ring does.

    What part n of a ring comes to is handed on from process n - 1 down to n, and rounded at each. Of two processes,
    the order does not matter.
    """
    if len(pieces) < 3:
        _fold(combine, pieces, out)
        return
    for number, (start, stop) in enumerate(pairwise(_edges(total, len(pieces), out.itemsize))):
        here = slice(max(start - at, 0), max(stop - at, 0))
        if out[here].size:
            way = (*pieces[number:], *pieces[:number])[::-1]
            _fold(combine, [piece[here] for piece in way], out[here])


def _edges(total: int, ranks: int, itemsize: int) -> list[int]:
    """Where so many elements are cut into a part for each process, of two messages or more, of no more than a size."""
    messages = -(-max(2 * ranks, -(-total * itemsize // _MESSAGE)) // ranks)
    size = messages * -(-total // (ranks * messages))
    return [min(number * size, total) for number in range(ranks + 1)]


def _fold(combine: Callable[..., Any], pieces: Sequence[Array], out: Array) -> None:
    """Combine arrays from the first to the last, into one that may be among them."""
    if len(pieces) == 1:
        if out is not pieces[0]:
            out[...] = pieces[0]
        return
    total, *rest = pieces
    for number, piece in enumerate(rest, 1):
        last = number == len(rest)
        total = combine(total, piece, out=out if last else total if number > 1 else None)
