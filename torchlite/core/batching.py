"""How an op runs on a batch, when `vmap` gives it operands with a dimension more than the user sees.

`batch=` in a declaration is one of

- `BROADCAST`  an elementwise op: operands are aligned, and broadcast
- `LEADING`    the op treats leading dimensions alike: it runs on operands with the batch in front, with the dimensions
               and shapes among its arguments moved accordingly; `Leading` says more about it
- `RANDOM`     the op draws numbers: the same for all elements, others for each, or none, as `vmap` was told
- `FILLING`    the same, but of its first operand only the form matters
- `DYNAMIC`    the shape of the result depends on values, so that there can be no batch of them
- a function of the op's arguments that gets the same result from other ops, which have rules of their own
- None         no rule: the op runs on one element of the batch after the other
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Leading:
    """`more`: of how many more dimensions than the first operand has the arguments speak.

    `call`: a function to be called in place of the op, on the operands of which those with a batch have it in front,
    and with the other arguments as they were.
    """

    more: int = 0
    call: Callable[..., Any] | None = None


BROADCAST = "broadcast"
DYNAMIC = "dynamic"
RANDOM = "random"
FILLING = "filling"
LEADING = Leading()

# Arguments that name dimensions, and those that are shapes of operands.
DIMENSIONS = frozenset(("dim", "dims", "dim0", "dim1", "dim2", "dimension"))
SHAPES = frozenset(("size", "input_sizes"))
