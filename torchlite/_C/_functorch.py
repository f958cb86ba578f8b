"""`torch._C._functorch`: the levels of running transforms by their numbers, and what tensors of theirs are made of.

Levels are numbered from 1, the outermost; what is begun here is to be ended here, in the order of a stack.
"""

from __future__ import annotations

import enum
from typing import Any

from ..core.machine import Tensor
from ..core.state import local
from ..func.batched import Batched, BatchedBackend, BatchLevel, fallback
from ..func.dual import Dual, DualBackend
from ..func.nested import Nested, NestedBackend, NestedLevel
from ..func.transform import Level, Lifted

TransformType = enum.Enum("TransformType", "Torch Vmap Grad Jvp Functionalize", start=0)
RandomnessType = enum.Enum("RandomnessType", "Error Same Different", start=0)


def _level(number: int) -> Level:
    levels = local.state.levels
    if not 1 <= number <= len(levels):
        raise RuntimeError(f"there is no transform of level {number}: {len(levels)} of them are running")
    return levels[number - 1]


# ---- what a tensor is


def is_functorch_wrapped_tensor(t: Tensor) -> bool:
    return isinstance(t._array, Lifted)


def is_batchedtensor(t: Tensor) -> bool:
    return isinstance(t._array, Batched)


def is_gradtrackingtensor(t: Tensor) -> bool:
    return isinstance(t._array, (Nested, Dual))


def is_functionaltensor(t: Tensor) -> bool:
    """Never: `functionalize` runs a function as it is."""
    return False


is_legacy_batchedtensor = is_functionaltensor


def is_dead_tensor_wrapper(t: Tensor) -> bool:
    """Whether the transform that a tensor was differentiated by has ended."""
    return is_gradtrackingtensor(t) and not t._backend.real.owner.running


def maybe_get_level(t: Tensor) -> int:
    """The number of the level of a tensor; -1 of one of no transform, -2 if its transform has ended."""
    if not is_functorch_wrapped_tensor(t):
        return -1
    return -2 if is_dead_tensor_wrapper(t) else t._backend.real.owner.depth


def maybe_get_bdim(t: Tensor) -> int:
    """In which dimension of the tensor inside the batch lies; -1 if there is none."""
    return t._array.dim if is_batchedtensor(t) else -1


def get_unwrapped(t: Tensor) -> Tensor:
    """The tensor inside."""
    if not is_functorch_wrapped_tensor(t):
        raise RuntimeError("No wrappers present!")
    return t._array.main


def unwrap_if_dead(t: Tensor) -> Tensor:
    return t._array.main if is_dead_tensor_wrapper(t) else t


# ---- beginning and ending levels


def _begin(level: Level) -> int:
    level.__enter__()
    return level.depth


def _end() -> int:
    levels = local.state.levels
    if not levels:
        raise RuntimeError("no transform is running that could be ended")
    levels[-1].__exit__()
    return levels[-1].depth


def _vmap_level(batch_size: int, randomness: str) -> BatchLevel:
    if randomness not in ("error", "same", "different"):
        raise RuntimeError("randomness argument must be error, same, or different.")
    return BatchLevel(batch_size, randomness)


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    return _begin(_vmap_level(batch_size, randomness))


def _grad_increment_nesting() -> int:
    return _begin(NestedLevel())


def _jvp_increment_nesting() -> int:
    return _begin(Level(DualBackend))


_vmap_decrement_nesting = _grad_decrement_nesting = _jvp_decrement_nesting = _end


def _add_batch_dim(t: Tensor, dim: int, level: int) -> Tensor:
    """A tensor as a batch, which lies in this dimension."""
    return _level(level).wrap(Batched(t, dim % t.dim()))


def _unwrap_batched(t: Tensor, level: int) -> tuple[Tensor, int | None]:
    """The tensor inside, and where its batch lies; the tensor itself, and None, if it is of another level."""
    if is_batchedtensor(t) and t._backend.real.owner.depth == level:
        return t._array.main, t._array.dim
    return t, None


def _remove_batch_dim(t: Tensor, level: int, batch_size: int, dim: int) -> Tensor:
    """The tensor inside with its batch in this dimension."""
    inside, at = _unwrap_batched(t, level)
    if at is None:
        inside, at = t.expand((batch_size, *t.shape)), 0
    return inside if at == dim % inside.dim() else inside.movedim(at, dim)


def _wrap_for_grad(t: Tensor, level: int) -> Tensor:
    """A tensor as one of a level that differentiates."""
    owner = _level(level)
    return owner.wrap(Dual(t, None) if owner.kind is DualBackend else Nested(t))


def _unwrap_for_grad(t: Tensor, level: int) -> Tensor:
    """The tensor inside, if it is of this level."""
    owned = is_gradtrackingtensor(t) and t._backend.real.owner.depth == level
    return t._array.main if owned else t


# ---- what runs


def maybe_current_level() -> int | None:
    return len(local.state.levels) or None


def current_level() -> int:
    found = maybe_current_level()
    if found is None:
        raise RuntimeError("no transform is running")
    return found


def get_dynamic_layer_stack_depth() -> int:
    return len(local.state.levels)


_KINDS = {BatchedBackend: TransformType.Vmap, NestedBackend: TransformType.Grad, DualBackend: TransformType.Jvp}


class CInterpreter:
    """A running transform."""

    def __init__(self, interpreter: CInterpreter | Level) -> None:
        self._level: Any = interpreter._level if isinstance(interpreter, CInterpreter) else interpreter

    def key(self) -> TransformType:
        return _KINDS[self._level.kind]

    def level(self) -> int:
        return self._level.depth


class CVmapInterpreterPtr(CInterpreter):
    def batchSize(self) -> int:
        return self._level.size

    def randomness(self) -> RandomnessType:
        return RandomnessType[self._level.randomness.title()]


class CGradInterpreterPtr(CInterpreter):
    def lift(self, t: Tensor) -> Tensor:
        return _wrap_for_grad(t, self.level())

    def prevGradMode(self) -> bool:
        """Whether gradients were on where the transform was called."""
        return self._level.outer.grad


class CJvpInterpreterPtr(CInterpreter):
    lift = CGradInterpreterPtr.lift

    def prevFwdGradMode(self) -> bool:
        return self._level.outer.forward


def get_interpreter_stack() -> list[CInterpreter] | None:
    """The running transforms, the outermost first."""
    return [CInterpreter(level) for level in local.state.levels] or None


def peek_interpreter_stack() -> CInterpreter | None:
    """The innermost of the running transforms."""
    levels = local.state.levels
    return CInterpreter(levels[-1]) if levels else None


DynamicLayer = Level


def pop_dynamic_layer_stack() -> Level:
    """Take the innermost transform off, until it is pushed again."""
    state = local.state
    *rest, top = state.levels
    state.levels = tuple(rest)
    return top


def push_dynamic_layer_stack(layer: Level) -> int:
    state = local.state
    state.levels = (*state.levels, layer)
    return len(state.levels)


# ---- switches


def get_inplace_requires_grad_allowed() -> bool:
    return local.state.leaves_allowed


def set_inplace_requires_grad_allowed(allowed: bool) -> None:
    """Whether `requires_grad_` may be called while transforms run."""
    local.state.leaves_allowed = allowed


def _is_vmap_fallback_enabled() -> bool:
    return fallback.enabled


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Whether ops without a batching rule run on one element after the other."""
    fallback.enabled = enabled


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Whether it is warned of those."""
    fallback.warns = enabled


# ---- batches in dimensions of tensors


def reshape_dim_into(src: int, dst: int, t: Tensor) -> Tensor:
    """A tensor with one dimension merged into another, of which it becomes the outer part."""
    src, dst = src % t.dim(), dst % (t.dim() - 1)
    shape = list(t.shape)
    size = shape.pop(src)
    shape[dst] *= size
    return t.movedim(src, dst).reshape(shape)


def reshape_dim_outof(src: int, size: int, t: Tensor) -> Tensor:
    """A tensor with a dimension split in two, of which the outer one has this size."""
    src %= t.dim()
    shape = t.shape
    if shape[src] % size:
        raise RuntimeError(f"a dimension of size {shape[src]} cannot be split into {size} equal parts")
    return t.reshape((*shape[:src], size, shape[src] // size, *shape[src + 1 :]))
