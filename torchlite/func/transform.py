"""What the transforms have in common: a backend whose "array" is made of tensors of the level below.

Every running transform is a `Level`. A tensor of a level has a `Lifted` as its array, and as its backend that of the
level over the backend of the tensors inside. An op on operands of several levels runs on the one begun last, for which
the others are constants: `Op.apply` leaves it to `Transform.run`.
"""

from __future__ import annotations

import itertools
import math
import textwrap
import threading
from typing import TYPE_CHECKING, Any

from ..backends.base import Backend
from ..core import dtype as dt
from ..core.layout import contiguous_strides
from ..core.mode import local
from ..core.tensor import Tensor, TensorBase, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_serials = itertools.count(1)


class _Running(threading.local):
    levels = 0  # how many transforms this thread is in


_running = _Running()


class Level:
    """One run of a transform; a context. `serial` orders levels by their beginning, `depth` counts those around."""

    def __init__(self, kind: type[Transform]) -> None:
        self.kind = kind
        self.serial = next(_serials)
        self.depth = 0
        self.backends: dict[Backend, Transform] = {}
        self.adopted: list[Tensor] = []  # those from below that were written to with values of this level

    def over(self, inner: Backend) -> Transform:
        """This level's backend for what is made of tensors of `inner`."""
        found = self.backends.get(inner)
        if found is None:
            found = self.backends[inner] = self.kind(self, inner)
        return found

    def wrap(self, array: Lifted) -> Tensor:
        """The tensor of this level over an array of it."""
        return wrap(array, array.main.dtype, self.over(array.main.backend.real))

    def array_of(self, value: Any) -> Any:
        """The array of a tensor of this level; None for anything else."""
        return value.array if isinstance(value, TensorBase) and value.backend.level == self.serial else None

    def __enter__(self) -> None:
        _running.levels += 1
        self.depth = _running.levels

    def __exit__(self, *_: object) -> None:
        """Tensors from below that this level took over become again what they were."""
        _running.levels -= 1
        for t in self.adopted:
            array = self.array_of(t)
            if array is not None:
                t.array, t.backend, t.edge = array.main.array, array.main.backend, array.main.edge
        self.adopted.clear()
        self.backends.clear()  # they know this level: a cycle


class Lifted:
    """An array made of tensors. What it shows of itself is what an array of its shape and strides would."""

    __slots__ = ()

    main: Tensor  # the tensor inside that has the values
    shape: tuple[int, ...]
    steps: tuple[int, ...]  # strides, in elements

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        return self.main.array.dtype

    @property
    def itemsize(self) -> int:
        return self.main.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple([s * self.itemsize for s in self.steps])

    @property
    def flags(self) -> Lifted:
        return self

    @property
    def c_contiguous(self) -> bool:
        sizes = zip(self.shape, self.steps, contiguous_strides(self.shape), strict=True)
        return 0 in self.shape or all(n == 1 or s == wanted for n, s, wanted in sizes)


class _Itself:
    """An attribute that is the object it is read from, without a cycle; a `guarded` twin sets its own."""

    def __get__(self, backend: Any, cls: type) -> Any:
        return backend


class Transform(Backend):
    """The backend of a level over another backend."""

    Array = Lifted
    strided = False
    real = _Itself()

    def __init__(self, owner: Level, inner: Backend) -> None:
        super().__init__(inner.device)
        del self.real
        self.owner = owner
        self.level = owner.serial
        self.inner = inner

    # What each transform says for itself

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        """The results of an op: tensors of this level, or from below where it has no part in them."""
        raise NotImplementedError

    def map(self, array: Any, f: Callable[[Tensor], Tensor]) -> Any:
        """The array with `f` of every tensor inside."""
        raise NotImplementedError

    def lift(self, t: Tensor) -> Any:
        """A tensor from below as an array of this level."""
        raise NotImplementedError

    def adopt(self, t: Tensor) -> None:
        """Make a tensor from below, that is to be written to, one of this level."""
        raise NotImplementedError

    def describe(self, array: Any) -> str:
        """What the printed form of a tensor says first."""
        raise NotImplementedError

    # What the core asks

    def run(self, op: Any, values: Sequence[Any]) -> Any:
        """The results of an op, with a history on this level where an operand has one."""
        results = self.compute(op, values)
        if op.rules and local.state.mode.grad:
            listed = results if results.__class__ is tuple else (results,)
            if all([r.edge is None for r in listed if self.owner.array_of(r) is not None]):
                op.record(values, listed)
        return results

    def shown(self, array: Any) -> str:
        inside = textwrap.indent(repr(array.main), "    ")
        return f"{self.describe(array)}, value=\n{inside}\n)"

    # What every backend offers

    def of_inner(self, array: Any) -> Tensor:
        return wrap(array, dt.of_numpy(array.dtype), self.inner)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any) -> Any:
        return self.lift(self.of_inner(self.inner.full(shape, value, dtype)))

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.full(shape, 0, dtype)

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        return self.lift(self.of_inner(self.inner.asarray(value, dtype)))

    def cast(self, array: Any, dtype: Any) -> Any:
        return self.map(array, lambda t: t.to(dt.of_numpy(dtype)))

    def copy(self, array: Any, order: str = "K") -> Any:
        return self.map(array, lambda t: t.clone())

    def strides(self, array: Any) -> tuple[int, ...]:
        return array.steps

    def offset(self, array: Any) -> int:
        return array.main.storage_offset()

    def to_host(self, array: Any) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    pointer = storage = to_host

    def number(self, array: Any) -> Any:
        return array.main.backend.real.number(array.main.array)

    def truth(self, array: Any) -> bool:
        """What `bool` of a tensor says."""
        return bool(array.main)
