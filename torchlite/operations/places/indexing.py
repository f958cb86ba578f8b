"""The indexing language: `x[...]` and `x[...] = v`.

Integers, slices, None and Ellipsis make views. Tensors, sequences and arrays of integers or bools pick elements,
through the ops `index` and `index_put`. A plain tensor without history takes a short way to its view.
"""

from __future__ import annotations

from typing import Any

from ...core.declare import Op, method
from ...core.machine import TensorBase
from ...core.machine.fast import accelerated
from ...core.machine.node import UNVERSIONED, Counter, Node, sequence
from ...core.machine.operands import fitting_array
from ...core.machine.overrides import dispatch, needs_dispatch
from ...core.machine.tensor import Tensor, wrap
from ...core.machine.view import INFERENCE, NO_GRAD, ORDINARY, View, requires_grad, resolve
from ...core.machine.write import bump
from ...core.native import native
from ...core.state import local
from ...core.values import dt, type_name, warn, wrap_dim
from ..making.factory import lifted
from ..making.host_data import tensor
from ..shapes.shape import alias, unsqueeze
from ..shapes.slicing import select, slice_
from .advanced_indexing import index as index_op
from .advanced_indexing import index_put
from .writing import check_apart

_new = object.__new__
_END = (1 << 63) - 1  # where a slice without an end stops


class _Basic:
    """A step in the path of a view: indexing it with integers, slices, None and Ellipsis."""

    still = reinterprets = False

    @staticmethod
    def apply(t: Tensor, index: Any) -> Tensor:
        return t[index]


_BASIC = _Basic()


def _simple(index: tuple[Any, ...]) -> bool:
    """Whether an array reads these indices as PyTorch does."""
    for item in index:
        kind = item.__class__
        if kind is slice:
            step = item.step
            if step is not None and (step.__class__ is not int or step < 1):
                return False
        elif kind is not int and item is not None and item is not Ellipsis:
            return False
    return True


def getitem(self: Tensor, index: Any) -> Tensor:
    """The part of a tensor that `index` names: a view, or a copy when tensors or sequences pick elements."""
    state = local.state
    mode = state.mode
    edge, backend = self._edge, self._backend
    if mode.plain:
        recording = edge is not None and mode.grad and (edge.__class__ is not View or requires_grad(self))
        kind = index.__class__
        array: Any = None
        step: Any
        try:
            if kind is int:
                array = self._array[index, ...]
                step = (select, (0, index))
            elif kind is slice and index.step is None:
                array = self._array[index]
                step = (slice_, (0, index.start or 0, _END if index.stop is None else index.stop, 1))
            elif kind is Tensor and index.dtype is dt.int64 and index._backend is backend and not index._array.shape:
                at = index.item()
                array = self._array[at, ...]
                step = (select, (0, at))
            elif not recording and (index is None or (kind is tuple and _simple(index))):
                items = (None, ...) if index is None else index if Ellipsis in index else (*index, ...)
                array = self._array[items]
                if None in items:  # for which NumPy makes strides of zero
                    shape = self._array.shape
                    some = array.size != self._array.size or 1 in shape or int in [item.__class__ for item in items]
                    array = None if some or not array.flags.c_contiguous else array.squeeze().reshape(array.shape)
                step = (_BASIC, (index,))
        except (IndexError, TypeError):
            array = None
        if array is None or not array.size or self._counter is UNVERSIONED:
            return _get(self, index)
        if backend.real is not backend or not backend.strided:
            return _get(self, index)
        result = _new(Tensor)
        result._array = array
        result._dtype = self.dtype
        result._backend = backend
        result._grad = result._extra = result._edge = None
        if recording:
            result._edge = (_node(self, result, *step), 0)
        counter = self._counter
        if counter is None:
            counter = self._counter = Counter()
        result._counter = counter
        view = _new(View)
        view.edge = result._edge
        result._edge = view
        view.seen = counter.n
        if edge.__class__ is View:
            view.base = edge.base
            view.kind = edge.kind if mode.grad or edge.kind is INFERENCE else NO_GRAD
            view.path = (*edge.path, step)
        else:
            view.base = self
            view.kind = ORDINARY if mode.grad else NO_GRAD
            view.path = (step,)
        return result
    return _get(self, index)


def _node(source: Tensor, result: Tensor, op: Op, arguments: tuple[Any, ...]) -> Node:
    """The node of a view, which keeps nothing but what it notes."""
    node_class, noted = _recipes[op]
    node: Node = _new(node_class)
    node.next_edges = (resolve(source),)
    node.output_forms = ((result._array.shape, result.dtype, result._backend.home),)
    node.plain_values = tuple([source._array.shape if at < 0 else arguments[at] for at in noted])
    node.sequence_nr = next(sequence)
    node.saved_entries = ()
    node.operand_forms = node.node_hooks = node.node_metadata = None
    return node


def _recipe(op: Op) -> tuple[Any, tuple[int, ...]]:
    """The class of a view's node, and what it notes: arguments after the tensor, by their places, or its shape (-1)."""
    return op.node_class, tuple([-1 if what else at - 1 for _, at, what in op._to_note])


_recipes: dict[Any, tuple[Any, tuple[int, ...]]] = {op: _recipe(op) for op in (select, slice_)}
if native is None:
    method("__getitem__")(getitem)
else:
    parts = (select, slice_, _BASIC, _END, *_recipes[select], *_recipes[slice_], index_op.applied)
    method("__getitem__")(accelerated(native.index, getitem, *parts))


def _get(self: Tensor, index: Any) -> Tensor:
    if needs_dispatch((self, index), {}):
        return dispatch(Tensor.__getitem__, (self, index), {})
    kind = index.__class__
    shape = self._array.shape
    if kind is int:
        if not shape:
            raise _no_dimensions(index)
        return select.apply(self, 0, _position(index, 0, shape[0]))
    if kind is slice:
        return _sliced(self, 0, index)
    if isinstance(index, TensorBase) and index._backend is self._backend and 0 < index._array.ndim <= len(shape):
        return index_op.apply(self, [index])
    result, indices = _walk(self, _items(index))
    if indices:
        return index_op.apply(result, indices)
    return alias.apply(result) if result is self else result


# ---- the language


def _items(index: Any) -> tuple[Any, ...]:
    """The index as a tuple of one item for each dimension or so."""
    if isinstance(index, tuple):
        return tuple(index)
    if not _is_sequence(index) or hasattr(index, "dtype") or len(index) >= 32 or not any(map(_is_part, index)):
        return (index,)
    warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; "
        "use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
        "x[torch.tensor(seq)], which will result either in an error or a different result",
    )
    return tuple(index)


def _is_part(item: Any) -> bool:
    """What makes the list it stands in an index of several dimensions."""
    return item is None or item is Ellipsis or isinstance(item, (slice, TensorBase)) or _is_sequence(item)


def _is_sequence(value: Any) -> bool:
    """What has a length and takes positions: lists, strings and arrays, but not mappings."""
    return hasattr(value, "__len__") and hasattr(value, "__getitem__") and not hasattr(value, "keys")


def _walk(self: Tensor, items: tuple[Any, ...]) -> tuple[Tensor, list[Tensor | None]]:
    """Apply what makes views; collect the tensors that pick elements, one place for each dimension of the result."""
    given = sum([_width(item) for item in items])
    if given > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
    result = self
    indices: list[Tensor | None] = []
    dim = 0
    for at, item in enumerate(items):
        single = isinstance(item, TensorBase) and not item.dim()
        if single and item.dtype.category == dt.INT and item.dtype is not dt.uint8 and not item._backend.home.level:
            item = item.item()
        elif isinstance(item, bool) or (single and item.dtype in _MASKS):
            result = unsqueeze.apply(result, dim)
            indices.append(_all_or_nothing(bool(item), self))
            dim += 1
            continue
        if item is None:
            result = unsqueeze.apply(result, dim)
            indices.append(None)
            dim += 1
        elif item is Ellipsis:
            skipped = self.dim() - given
            indices.extend([None] * skipped)
            dim += skipped
        elif isinstance(item, slice):
            if not _is_all(item, result._array.shape[wrap_dim(dim, result.dim())]):
                result = _sliced(result, dim, item)
            indices.append(None)
            dim += 1
        elif isinstance(item, TensorBase) or (_is_sequence(item) and not (hasattr(item, "dtype") and not item.shape)):
            picker = _picker(item, self)
            indices.append(picker)
            dim += picker.dim() if picker.dtype in _MASKS else 1
        else:
            size = result._array.shape[dim] if dim < result.dim() else 0
            result = select.apply(result, dim, _position(item, at, size))
    while indices and indices[-1] is None:
        indices.pop()
    return result, indices


_MASKS = (dt.bool_, dt.uint8)


def _width(item: Any) -> int:
    """The number of dimensions that an item of an index consumes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.dim() if isinstance(item, TensorBase) and item.dtype in _MASKS else 1


def _position(item: Any, place: int, size: int) -> int:
    """An integer from an index; `place` is where it stands in it."""
    try:
        at = item.__index__()
    except (AttributeError, TypeError):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type_name(item)})"
        ) from None
    if not -(1 << 63) <= at < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if not -size <= at < size:
        raise IndexError(f"index {at} is out of bounds for dimension {place} with size {size}")
    return at


def _no_dimensions(index: int) -> IndexError:
    if index:
        return IndexError(f"index {index} is out of bounds for dimension 0 with size 0")
    return IndexError(
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
        "0-dim tensor to a number"
    )


def _bounds(item: slice, size: int) -> tuple[int, int, int]:
    start, stop, step = item.indices(size)
    if step < 0:
        raise ValueError("step must be greater than zero")
    return start, stop, step


def _is_all(item: slice, size: int) -> bool:
    """Whether a slice is written as one that leaves nothing out; `-n:` is not."""
    _bounds(item, size)
    return not item.start and (item.stop is None or item.stop >= size) and item.step in (None, 1)


def _sliced(t: Tensor, dim: int, item: slice) -> Tensor:
    if not t.dim():
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    _bounds(item, t._array.shape[dim])
    start, stop, step = item.start, item.stop, item.step
    return slice_.apply(
        t,
        dim,
        0 if start is None else start.__index__(),
        _END if stop is None else stop.__index__(),
        1 if step is None else step.__index__(),
    )


def _picker(item: Any, like: Tensor) -> Tensor:
    """The tensor that an item picks elements with, on the device of the indexed one."""
    if not isinstance(item, TensorBase):
        item = tensor(item, device=like.device)
        if item.dtype not in _MASKS:
            item = item.to(dt.int64)
    return item if item._backend.real is like._backend.real else item.to(like.device)


def _all_or_nothing(chosen: bool, like: Tensor) -> Tensor:
    """An index for a new dimension of size one."""
    backend = like._backend.home
    return wrap(backend.full((int(chosen),), 0, dt.int64.numpy), dt.int64, backend)


# ---- assignment


@method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write a number or a tensor into the part that `index` names."""
    mode = local.state.mode
    kind = index.__class__
    if (
        mode.plain
        and (kind is int or (kind is slice and index.step is None) or (kind is tuple and _simple(index)))
        and (self._edge is None or not requires_grad(self))
    ):
        array = self._array
        backend = self._backend
        dtype = self.dtype
        try:
            if value.__class__ is float:
                source = value if dtype is dt.float64 or (dtype is dt.float32 and -3e38 < value < 3e38) else None
            elif value.__class__ is int:
                source = value if dtype in _EXACT and -(1 << 31) <= value < 1 << 31 else None
            elif (
                value._backend is backend
                and (not mode.grad or value._edge is None)
                and value is not self
                and (value._counter is None or value._counter is not self._counter)
            ):
                source = value._array if value.dtype is dtype else None
            else:
                source = None
            if source is not None and backend.real is backend and backend.bare and 0 not in array.strides:
                array[index] = source
                bump(self)
                return
        except (AttributeError, IndexError, TypeError, ValueError):
            pass
    _set(self, index, value)


_EXACT = frozenset((dt.float32, dt.float64, dt.int64, dt.int32))


def _set(self: Tensor, index: Any, value: Any) -> None:
    if needs_dispatch((self, index, value), {}):
        dispatch(Tensor.__setitem__, (self, index, value), {})
        return
    value = _as_value(value, self)
    if index is False:
        return
    if index is True:
        _copy_to(unsqueeze.apply(self, 0), value)
        return
    if not self._array.shape:
        if index.__class__ is int:
            raise _no_dimensions(index)
        if index.__class__ is slice:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    part, indices = _walk(self, _items(index))
    if indices:
        index_put.apply_in_place([part, indices, _trimmed(value), False])
    else:
        _copy_to(part, value)


def _as_value(value: Any, like: Tensor) -> Tensor:
    """The assigned value as a tensor; a number gets the dtype of the tensor it goes to."""
    if isinstance(value, TensorBase):
        return value
    if not isinstance(value, (bool, int, float, complex)):
        try:
            value = value.__index__()
        except (AttributeError, TypeError):
            raise TypeError(f"can't assign a {type_name(value)} to a torch.{like.dtype.legacy}Tensor") from None
    if value.__class__ is int and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    backend = like._backend.home
    through = dt.float64 if like.dtype in dt.HALVES else like.dtype
    array = fitting_array(value, through, backend)
    if through is not like.dtype:
        array = local.state.quiet(backend.cast, array, like.dtype.numpy)
    return lifted(wrap, array, like.dtype, backend)


def _trimmed(value: Tensor) -> Tensor:
    """`value` without leading dimensions of size one."""
    shape = value._array.shape
    first = next((d for d, n in enumerate(shape) if n != 1), len(shape))
    return value.reshape(shape[first:]) if first else value


def _copy_to(part: Tensor, value: Tensor) -> None:
    if not value._array.shape and part._array.shape and value._backend.home is part._backend.home:
        part.fill_(value)
        return
    if value._array.shape != part._array.shape:
        value = _trimmed(value).expand(part._array.shape)
    check_apart(part, value)
    part.copy_(value)
