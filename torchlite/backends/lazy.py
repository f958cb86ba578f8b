"""Conjugates and negatives that are computed when they are read.

The tensor that `x.conj()` returns shows the memory of `x` and holds a *lazy* backend: a twin of the device's own that
says how its values follow from what is in memory. Lazy backends are a level between the devices and the transforms.
An op that comes to this level runs on the values, computed for it, and is recorded as if it had run on the tensors
themselves; views show the same memory with the same backend; what is written is flipped on its way into memory.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor, computed
from ..core.machine.write import write
from ..core.state import is_watched, local, silent, with_grad
from ..core.values import Array, dense_strides, dt, not_implemented_for
from ..core.values.cached import cached
from .base import Backend

CONJ, NEG = 1, 2  # bits: memory holds the conjugates of the values, their negatives


def flipped(backend: Backend, bits: int) -> Backend:
    """The backend of a tensor over the same memory with these bits the other way."""
    home, bits = backend.home, backend.bits ^ bits
    if not bits:
        return home
    return home.twins.get(bits) or home.twins.setdefault(bits, _twin(home, bits))


def _twin(home: Backend, bits: int) -> Backend:
    twin = copy.copy(home)
    twin.__class__ = _lazy(type(home))
    twin.__dict__.pop("guarded", None)
    twin.real, twin.bits = twin, bits
    return twin


@cached
def _lazy(kind: type[Backend]) -> type[Backend]:
    return type(f"Lazy{kind.__name__}", (Lazy, kind), {})


class Lazy(Backend):
    """What a lazy backend does otherwise than the device's."""

    level = 1
    lazy = True
    bare = False

    def computed(self, array: Array) -> Any:
        """The values that `array` stands for, as a fresh array of the device."""
        home, made = self.home, array
        if self.bits & CONJ:
            made = home.xp.conjugate(made)
        if self.bits & NEG:
            if made.dtype == dt.bool_.numpy:
                raise not_implemented_for("neg_cpu", dt.bool_)
            made = home.xp.negative(made)
        if made.__class__ is not home.Array:
            made = home.asarray(made)
        if made.strides == array.strides:
            return made
        return home.ordered(made, dense_strides(array.shape, home.strides(array)))

    def to_host(self, array: Array) -> Any:
        return self.home.to_host(self.computed(array))

    def number(self, array: Array) -> Any:
        return self.home.number(self.computed(array))

    def truth(self, array: Array) -> bool:
        return bool(self.number(array).item())

    def lift(self, t: Tensor) -> Any:
        """The values to be written into an array of this level."""
        return t._array

    def write(self, array: Array, value: Any) -> None:
        self.home.write(array, value)
        self.home.write(array, self.computed(array))

    def adopt(self, t: Tensor) -> None:
        """A tensor stays what it is when values of this level are written to it."""

    def run(self, op: Any, values: Sequence[Any]) -> Any:
        """The results of an op on the values, with the history and tangents that it has on the tensors themselves."""
        state = local.state
        seer = state.mode.seer
        run = functools.partial(seer, op) if seer is not None and seer.reads(op, values) else op.run_lazily
        results = state.within(silent(state.mode), run, values)
        if op.recorded and state.mode.records:
            op.remember(values, results if isinstance(results, (tuple, list)) else (results,))
        return results

    def overwrite(self, op: Any, self_: Tensor, before: Tensor, values: Sequence[Any]) -> None:
        """The in-place form of an op; on a tensor that is itself lazy, it works on a copy."""
        state = local.state
        state.within(with_grad(state.mode, False), self.overwritten, op, self_, before, values)

    def overwritten(self, op: Any, self_: Tensor, before: Tensor, values: Sequence[Any]) -> None:
        """Write to the memory, or to a copy that is written back; a mode sees these steps, but of what reads bits."""
        seer = local.state.mode.seer if is_watched() else None
        if seer is not None and seer.reads(op, values):
            seer.write(op, values)
            return
        operands = [computed(v) for v in values[1:]]
        target = computed(self_)
        if seer is None:
            op.overwrite(target, before if target is self_ else target._alias(), [target, *operands])
        else:
            seer.write(op, [target, *operands])
        if target is not self_:
            op.check_written_back(self_)
            self_.copy_(target) if seer is not None else write(self_, target)
