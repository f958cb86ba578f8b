"""The parts of tensors, nodes and a thread's state: structs of the native build, or else classes with the same slots.

The classes that derive from them add what Python does with the parts, and no slots of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .native import native

C = TypeVar("C")

_SLOTS = {
    "TensorParts": ("_grad", "array", "backend", "counter", "dtype", "edge", "extra"),
    "NodeParts": (
        "__weakref__", "next_edges", "node_hooks", "node_metadata", "operand_forms", "output_forms", "plain_values",
        "saved_entries", "sequence_nr",
    ),
    "ViewParts": ("base", "edge", "kind", "path", "seen"),
    "CounterParts": ("n",),
    "SavedOutputParts": ("output", "tensor", "version"),
    "SavedNumberParts": ("value",),
    "ModeParts": ("beneath", "direct", "grad", "plain"),
    "StateParts": ("adopted", "default_device", "entered", "levels", "mode", "quiet", "task"),
    "LevelParts": ("always", "backends", "has_twins", "outer"),
    "BatchedParts": ("dim", "main", "shape"),
    "NestedParts": ("_main", "shape", "twin"),
    "DualParts": ("main", "shape", "tangent"),
}  # fmt: skip


def _parts(name: str) -> Any:
    return type(name, (), {"__slots__": _SLOTS[name]}) if native is None else getattr(native, name)


if TYPE_CHECKING:  # what the parts are
    from collections.abc import Callable

    from .machine.hooks import Hooks
    from .machine.node import Counter
    from .machine.tensor import Tensor
    from .machine.tensor_parts import Extra
    from .state.mode import Mode
    from .values.dtype import dtype

    class TensorParts:
        __slots__: tuple[str, ...]
        array: Any  # what its backend computes with
        dtype: dtype
        backend: Any
        edge: Any
        counter: Counter | None
        _grad: Tensor | None
        extra: Extra | None

    class NodeParts:
        next_edges: tuple[Any, ...]
        operand_forms: Any
        output_forms: tuple[Any, ...]
        plain_values: Any
        saved_entries: Any
        sequence_nr: int
        node_hooks: Hooks | None
        node_metadata: dict[Any, Any] | None

    class ViewParts:
        base: Tensor
        edge: Any
        kind: str
        path: tuple[tuple[Any, tuple[Any, ...]], ...]
        seen: int

    class CounterParts:
        n: int

    class SavedOutputParts:
        tensor: Tensor
        output: int
        version: int

    class SavedNumberParts:
        value: Any

    class ModeParts:
        __slots__: tuple[str, ...]
        beneath: Mode | None
        direct: bool
        grad: bool
        plain: bool

    class StateParts:
        __slots__: tuple[str, ...]
        adopted: int
        default_device: Any
        entered: Any
        levels: tuple[Any, ...]
        mode: Mode
        quiet: Callable[..., Any]
        task: Any

    class LevelParts:
        always: bool
        backends: dict[Any, Any]
        has_twins: bool
        outer: Mode

    class BatchedParts:
        dim: int
        main: Tensor
        shape: tuple[int, ...]

    class NestedParts:
        _main: Tensor | None
        shape: tuple[int, ...]
        twin: Tensor | None

    class DualParts:
        main: Tensor
        shape: tuple[int, ...]
        tangent: Tensor | None

else:
    TensorParts = _parts("TensorParts")
    NodeParts = _parts("NodeParts")
    ViewParts = _parts("ViewParts")
    CounterParts = _parts("CounterParts")
    SavedOutputParts = _parts("SavedOutputParts")
    SavedNumberParts = _parts("SavedNumberParts")
    ModeParts = _parts("ModeParts")
    StateParts = _parts("StateParts")
    LevelParts = _parts("LevelParts")
    BatchedParts = _parts("BatchedParts")
    NestedParts = _parts("NestedParts")
    DualParts = _parts("DualParts")


def know(**objects: Any) -> None:
    """Hand the native build what it must know of Python."""
    if native is not None:
        native.know(**objects)


def whole(cls: C) -> C:
    """A class that adds nothing to its parts, which the native build may free as these are."""
    return cls if native is None else native.become_whole(cls)
