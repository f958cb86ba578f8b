"""What memory a profiled program's tensors have: when it came, how much it is, what it is for, and when it went.

An allocation is seen when the first tensor over it is: given to an operation, and so older than that, or made by one.
It goes with the array that owns it, which a weak reference tells of.
"""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.sparse import SparseArray
from ..core.machine import Node, TensorBase

if TYPE_CHECKING:
    from ..optim.optimizer import Optimizer


class Category(enum.Enum):
    """What memory is for."""

    INPUT = 1
    TEMPORARY = 2
    ACTIVATION = 3
    GRADIENT = 4
    AUTOGRAD_DETAIL = 5
    PARAMETER = 6
    OPTIMIZER_STATE = 7


@dataclass(slots=True)
class Allocation:
    """A stretch of memory; `older` than what is profiled, or made there."""

    address: int
    nbytes: int
    category: Category
    older: bool
    watch: weakref.ref[Any]


@dataclass(slots=True)
class MemoryRecord:
    """Memory that came, or, with a negative number of bytes, went: when, in which thread, and how much came till then.

    The time is in microseconds since profiling began; what is older came at -1, and counts for nothing.
    """

    time: float
    thread: int
    allocation: Allocation
    nbytes: int
    total: int


class MemoryWatch:
    """Tells `note(allocation, bytes)` of memory that comes and goes."""

    def __init__(self, note: Callable[[Allocation, int], None]) -> None:
        self.note = note
        self.known: dict[int, Allocation] = {}  # by the array that owns the memory
        self.stepping = False  # an optimizer is

    def meet(self, values: Iterable[Any]) -> None:
        """Take note of memory that was there before: of what an operation is given."""
        for tensor, owner in _owners(values):
            if id(owner) not in self.known:
                parameter = tensor is not None and tensor.requires_grad and tensor.is_leaf
                category = Category.PARAMETER if parameter else Category.INPUT
                self._know(owner, Category.OPTIMIZER_STATE if self.stepping else category, older=not self.stepping)

    def made(self, results: Iterable[Any]) -> None:
        """Tell of memory that is new among results, and in what the backward pass keeps."""
        for tensor, owner in _owners(results):
            node = None if tensor is None else tensor.grad_fn
            self._tell(owner, Category.TEMPORARY if node is None else Category.ACTIVATION)
            for _, kept in _owners(() if node is None else _saved(node)):
                self._tell(kept, Category.ACTIVATION)

    def made_backward(self, results: Sequence[Any], edges: Sequence[Any]) -> None:
        """Tell of memory that is new among a node's results, which go along these edges."""
        for result, edge in zip(results, edges):
            category = Category.GRADIENT if isinstance(edge, TensorBase) else Category.AUTOGRAD_DETAIL
            for _, owner in _owners([result]):
                self._tell(owner, category)

    @contextmanager
    def step(self, optimizer: Optimizer) -> Iterator[None]:
        """While an optimizer takes a step, what it had is older, and what is met besides is its own."""
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.meet([parameters, [p.grad for p in parameters], *_state(optimizer)])
        self.stepping = True
        try:
            yield
        finally:
            self.stepping = False
            for _, owner in _owners(_state(optimizer)):
                self._tell(owner, Category.OPTIMIZER_STATE)

    def _tell(self, owner: Any, category: Category) -> None:
        if id(owner) not in self.known:
            self._know(owner, category, older=False)
        elif category in (Category.GRADIENT, Category.OPTIMIZER_STATE):  # what was seen on its way there
            self.known[id(owner)].category = category

    def _know(self, owner: Any, category: Category, older: bool) -> None:
        address = owner.ctypes.data if isinstance(owner, np.ndarray) else owner.data.ptr
        watch = weakref.ref(owner, partial(self._gone, id(owner)))
        allocation = self.known[id(owner)] = Allocation(address, owner.nbytes, category, older, watch)
        self.note(allocation, owner.nbytes)

    def _gone(self, key: int, _: object) -> None:
        allocation = self.known.pop(key)
        self.note(allocation, -allocation.nbytes)


def _owners(values: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """The arrays that own memory among values, each with the tensor that shows it, if it is one."""
    for value in values:
        tensor, array = None, value
        while isinstance(array, TensorBase):  # of a transform's tensor, what is inside
            tensor, array = array, array._array
        if isinstance(value, (list, tuple)):
            yield from _owners(value)
        elif isinstance(array, SparseArray):
            yield from _owners(array.parts())
        elif hasattr(array, "nbytes") and array.nbytes and hasattr(array, "base"):
            while isinstance(array.base, type(array)):
                array = array.base
            yield tensor, array


def _state(optimizer: Optimizer) -> list[list[Any]]:
    return [[*kept.values()] for kept in optimizer.state.values()]


def _saved(node: Node) -> list[Any]:
    """The tensors that a node keeps as they are."""
    entries = node.saved_entries if isinstance(node.saved_entries, tuple) else ()
    return [entry[0] if isinstance(entry, tuple) else getattr(entry, "tensor", None) for entry in entries]
