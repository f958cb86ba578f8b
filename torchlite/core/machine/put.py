"""What is put into a tensor: zeros, a number, or another tensor's elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..native import named, native
from ..state import local
from .fast import PRECISE, WHOLE, accelerated
from .node import UNVERSIONED, Counter
from .overrides import PLAIN, public
from .tensor import Tensor

_FAR = 1 << 63  # numbers nearer to zero fit into float32, float64 and int64


def put(name: str, zeros: bool = False, numbers: bool = False, tensors: bool = False) -> None:
    """Let the plain cases of an in-place method be done at once, natively or in Python."""
    general: Any = getattr(Tensor, name)
    if native is not None:
        made = accelerated(native.put, general, zeros, numbers, tensors)
    else:
        made = public[general] = _elements(general) if tensors else _number(general, None if numbers else 0)
        made.__wrapped__ = general.__wrapped__
    setattr(Tensor, name, named(made, general))


def _is_written_plainly(t: Tensor) -> bool:
    """Whether a tensor is of a device, each of its elements has a place of its own, and nobody records the write."""
    backend = t._backend
    plain = backend is backend.home and backend.strided and not backend.level and t._counter is not UNVERSIONED
    return plain and 0 not in t._array.strides


def _counted(t: Tensor) -> Tensor:
    counter = t._counter
    if counter is None:
        counter = t._counter = Counter()
    counter.n += 1
    return t


def _number(general: Callable[..., Tensor], number: int | None) -> Any:
    """A method that puts a number into a tensor: the same at each call, or else the one that it is given."""
    given = number is None

    def call(self: Tensor, *value: Any, **named: Any) -> Tensor:
        mode = local.state.mode
        if mode.plain and len(value) == given and not named and self.__class__ in PLAIN:
            wanted: Any = value[0] if given else number
            kind = wanted.__class__
            fits = self.dtype in (WHOLE if kind is int else PRECISE) and (kind is int or kind is float)
            if fits and -_FAR <= wanted < _FAR and (self._edge is None or not mode.grad) and _is_written_plainly(self):
                self._backend.fill(self._array, wanted)
                return _counted(self)
        return general(self, *value, **named)

    return call


def _elements(general: Callable[..., Tensor]) -> Any:
    """A method that puts another tensor's elements into one of its shape and dtype."""

    def call(self: Tensor, *others: Any, **named: Any) -> Tensor:
        mode = local.state.mode
        if mode.plain and len(others) == 1 and not named and others[0].__class__ in PLAIN and self.__class__ in PLAIN:
            (other,) = others
            if (
                self.dtype is other.dtype
                and self._backend is other._backend
                and (self._edge is other._edge is None or not mode.grad)
                and _is_written_plainly(self)
            ):
                source, target = other._array, self._array
                if self is other:
                    return _counted(self)
                if source.shape == target.shape and source.base is target.base is None and source is not target:
                    self._backend.write(target, source)
                    return _counted(self)
        return general(self, *others, **named)

    return call
