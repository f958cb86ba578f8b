"""What is put into a tensor: zeros, a number, or another tensor's elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..native import named, native
from ..state import local
from .fast import LARGEST, LEAST, PRECISE, WHOLE, accelerated
from .node import UNVERSIONED, Counter
from .overrides import PLAIN, public
from .tensor import Tensor

_HOLDING = {int: WHOLE, float: PRECISE}  # by class, the dtypes that hold numbers between LEAST and LARGEST


def put(name: str, zeros: bool = False, numbers: bool = False, tensors: bool = False) -> None:
    """Let the plain cases of an in-place method be done at once, natively or in Python."""
    general: Any = getattr(Tensor, name)
    if native is not None:
        made = accelerated(native.put, general, zeros, numbers, tensors)
    else:
        made = public[general] = (_elements if tensors else _number if numbers else _zero)(general)
        made.__wrapped__ = general.__wrapped__
    setattr(Tensor, name, named(made, general))


def _noted(t: Tensor, grad: bool) -> bool:
    """Count a write that nobody records, into a tensor of a device whose elements each have a place of their own."""
    backend, counter = t._backend, t._counter
    if (
        (t._edge is not None and grad)
        or counter is UNVERSIONED
        or backend is not backend.home
        or not backend.strided
        or backend.level
        or 0 in t._array.strides
    ):
        return False
    if counter is None:
        counter = t._counter = Counter()
    counter.n += 1
    return True


def _zero(general: Callable[..., Tensor]) -> Any:
    """A method that puts zeros into a tensor."""

    def call(self: Tensor, *more: Any, **named: Any) -> Tensor:
        mode = local.state.mode
        fits = mode.plain and not more and not named and self.__class__ in PLAIN and self.dtype in WHOLE
        if fits and _noted(self, mode.grad):
            self._backend.fill(self._array, 0)
            return self
        return general(self, *more, **named)

    return call


def _number(general: Callable[..., Tensor]) -> Any:
    """A method that puts the number that it is given into a tensor."""

    def call(self: Tensor, *value: Any, **named: Any) -> Tensor:
        mode = local.state.mode
        if mode.plain and not named and self.__class__ in PLAIN and len(value) == 1:
            (number,) = value
            fits = self.dtype in _HOLDING.get(number.__class__, ()) and LEAST <= number < LARGEST
            if fits and _noted(self, mode.grad):
                self._backend.fill(self._array, number)
                return self
        return general(self, *value, **named)

    return call


def _elements(general: Callable[..., Tensor]) -> Any:
    """A method that puts another tensor's elements into one of its shape and dtype."""

    def call(self: Tensor, *others: Any, **named: Any) -> Tensor:
        mode = local.state.mode
        if mode.plain and not named and self.__class__ in PLAIN and len(others) == 1 and others[0].__class__ in PLAIN:
            (other,) = others
            if self is other:
                if _noted(self, mode.grad):
                    return self
            elif (
                self.dtype is other.dtype
                and self._backend is other._backend
                and (other._edge is None or not mode.grad)
                and (source := other._array).shape == (target := self._array).shape
                and source.base is target.base is None
                and source is not target
                and _noted(self, mode.grad)
            ):
                self._backend.write(target, source)
                return self
        return general(self, *others, **named)

    return call
