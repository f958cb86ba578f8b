"""The parts of tensors, nodes and a thread's state: structs of the native build, or else classes with the same slots.

The classes that derive from them add what Python does with the parts, and no slots of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .native import native

if TYPE_CHECKING:
    from collections.abc import Callable

    from .machine import Counter, Tensor
    from .machine.hooks import Hooks
    from .machine.tensor_base import Extra
    from .state.mode import Mode
    from .values.dtype import dtype

C = TypeVar("C")


class _Struct:
    """To type checkers, what these classes have in common."""

    __slots__: tuple[str, ...]


def _struct(cls: type[C]) -> type[C]:
    """The native build's struct of this name, or else a class with a slot for each annotation."""
    made: Any = type(cls.__name__, (), {"__slots__": tuple(cls.__annotations__)})
    return made if native is None else getattr(native, cls.__name__)


@_struct
class TensorParts(_Struct):
    _array: Any  # what its backend computes with
    dtype: dtype
    _backend: Any
    _edge: Any
    _counter: Counter | None
    _grad: Tensor | None
    _extra: Extra | None
    if TYPE_CHECKING:
        _dtype: Any  # the same, for those who write it: `dtype` is only asked for


if native is None:
    TensorParts._dtype = TensorParts.dtype


@_struct
class NodeParts(_Struct):
    __weakref__: Any
    next_edges: tuple[Any, ...]
    operand_forms: Any
    output_forms: tuple[Any, ...]
    plain_values: Any
    saved_entries: Any
    sequence_nr: int
    node_hooks: Hooks | None
    node_metadata: dict[Any, Any] | None


@_struct
class ViewParts(_Struct):
    base: Tensor
    edge: Any
    kind: str
    path: tuple[tuple[Any, tuple[Any, ...]], ...]
    seen: int


@_struct
class CounterParts(_Struct):
    n: int


@_struct
class SavedOutputParts(_Struct):
    tensor: Tensor
    output: int
    version: int


@_struct
class SavedNumberParts(_Struct):
    value: Any


@_struct
class ModeParts(_Struct):
    beneath: Mode | None
    direct: bool
    grad: bool
    plain: bool


@_struct
class StateParts(_Struct):
    adopted: int
    default_device: Any
    entered: Any
    levels: tuple[Any, ...]
    mode: Mode
    quiet: Callable[..., Any]
    task: Any


@_struct
class LevelParts(_Struct):
    always: bool
    backends: dict[Any, Any]
    has_twins: bool
    outer: Mode


@_struct
class BatchedParts(_Struct):
    dim: int
    main: Tensor
    shape: tuple[int, ...]


@_struct
class NestedParts(_Struct):
    _main: Tensor | None
    shape: tuple[int, ...]
    twin: Tensor | None


@_struct
class DualParts(_Struct):
    main: Tensor
    shape: tuple[int, ...]
    tangent: Tensor | None


def know(**objects: Any) -> None:
    """Hand the native build what it must know of Python."""
    if native is not None:
        native.know(**objects)


class Defaults:
    """What calls depend on beside their arguments: when it changes, another `era` begins, and plans are made anew."""

    era = object()


def renew_defaults() -> None:
    """Begin another era."""
    Defaults.era = object()
    know(defaults=Defaults.era)


def whole(cls: C) -> C:
    """A class that adds nothing to its parts, which the native build may free as these are."""
    return cls if native is None else native.become_whole(cls)
