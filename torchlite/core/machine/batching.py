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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..state import local
from .node import dated

if TYPE_CHECKING:
    from .tensor import Tensor


@dataclass(frozen=True)
class Leading:
    """`more`: of how many more dimensions than the first operand has the arguments speak.

    `call`: a function to be called in place of the op, on the operands of which those with a batch have it in front,
    and with the other arguments as they were.

    `given`: a function of the op's arguments that gives those it is to be run on in their place.
    """

    more: int = 0
    call: Callable[..., Any] | None = None
    given: Callable[..., tuple[Any, ...]] | None = None


BROADCAST = "broadcast"
DYNAMIC = "dynamic"
RANDOM = "random"
FILLING = "filling"
LEADING = Leading()

# Arguments that name dimensions, and those that are shapes of operands.
DIMENSIONS = frozenset(("dim", "dims", "dim0", "dim1", "dim2", "dimension"))
SHAPES = frozenset(("size", "input_sizes"))


def drawn(make: Callable[[tuple[int, ...]], Tensor], above: int = 0) -> Tensor:
    """Random numbers as the transforms want them that run above a level.

    `make(sizes)` makes them, with dimensions of these sizes in front for the elements that get numbers of their own.
    """
    state = local.state
    outer = state.levels
    asked = [level for level in outer if level.serial > above]
    batches = [level for level in reversed(asked) if level.draws() is not None][::-1]
    sizes = tuple([level.draws() for level in batches])
    t = state.among(outer[: len(outer) - len(asked)], make, sizes)
    for level in batches:
        t = level.batch(dated(t))
    return dated(t)


def dynamic_shape(name: str) -> str:
    """What is said of an operation whose result's shape depends on values, where its operand is a batch."""
    return (
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"aten::{name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
    )


def refuse_batch(operands: Sequence[Tensor], message: str) -> None:
    """Raise where an operand belongs to a running vmap."""
    levels = local.state.levels
    if levels:
        batches = {level.serial for level in levels if level.elements is not None}
        if any([t._backend.home.level in batches for t in operands]):
            raise RuntimeError(message)
