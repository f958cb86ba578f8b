"""Hooks for all tensors that are saved inside a `with`: pack them away, bring them back, let them be written to."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

from ..core.machine import Counter, SavedTensor, Tensor, shared_counter, version_of, wrap
from ..core.state import Context, Mode, State, Switch, local
from ..core.values import bear_name


class saved_tensors_hooks(Switch):
    """Inside, `pack_hook(tensor)` is kept in place of every tensor saved for backward.

    `unpack_hook` gets what `pack_hook` returned whenever the tensor is needed and returns a tensor of the same values.
    Where several are on, the innermost alone is asked. `pack_hook` must not write to the tensor; if it returns the very
    tensor, a result that is saved by its own node is never freed, so return `tensor.detach()`.
    """

    switches = ("saved_hooks",)

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def _inside(self, mode: Mode) -> Mode:
        return _with_hooks(mode, self.pack_hook, self.unpack_hook)


def _with_hooks(mode: Mode, pack: Any, unpack: Any, before_write: Callable[[Tensor], None] | None = None) -> Mode:
    """A mode with one more pair of default hooks."""
    if not callable(pack) or not callable(unpack):
        raise TypeError(
            "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types are "
            "supported:\n    1. (arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\n"
            f"Invoked with: {pack!r}, {unpack!r}"
        )
    refused = local.state.hooks_refused
    if refused is not None:
        raise RuntimeError(refused)
    return mode.but(saved_hooks=(*mode.saved_hooks, (pack, unpack, before_write)))


def push_hooks(pack: Any, unpack: Any) -> None:
    """Put a pair of default hooks on this thread's stack."""
    state = local.state
    state.mode = _with_hooks(state.mode, pack, unpack)


def pop_hooks() -> None:
    """Take the innermost pair of default hooks from this thread's stack."""
    state = local.state
    state.mode = state.mode.but(saved_hooks=state.mode.saved_hooks[:-1])


class disable_saved_tensors_hooks(Context, contextlib.ContextDecorator):
    """Inside, turning on hooks for saved tensors raises RuntimeError with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def _take(self, state: State) -> str | None:
        if state.mode.saved_hooks:
            raise RuntimeError(self.error_message)
        return state.hooks_refused

    def _set(self, state: State, kept: str | None) -> None:
        state.hooks_refused = self.error_message

    def _put(self, state: State, kept: str | None) -> None:
        state.hooks_refused = kept


class save_on_cpu(saved_tensors_hooks):
    """Inside, what is saved for backward is kept in the memory of the CPU and goes back to its device when needed.

    With `pin_memory`, in page-locked memory, from and to which copies need not be waited for.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if not isinstance(device_type, str):
            raise TypeError(f"attribute name must be string, not {type(device_type).__name__!r}")

        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            if not pin_memory or tensor.device.type != device_type:
                return tensor.device, tensor.cpu()
            pinned = tensor.new_empty(tensor.shape, device="cpu", pin_memory=True)
            return tensor.device, pinned.copy_(tensor, non_blocking=True)

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class _Kept:
    """Stands for a tensor that was saved; nodes that saved it hold this alone."""

    __slots__ = ("__weakref__", "version")

    def __init__(self, version: int) -> None:
        self.version = version


class _SavedBeforeWrites:
    """The tensors saved inside one `allow_mutation_on_saved_tensors`, and copies of those written to since."""

    open = False  # whether such a context is on

    def __init__(self) -> None:
        self.original: weakref.WeakKeyDictionary[_Kept, Tensor] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Kept, Tensor] = weakref.WeakKeyDictionary()
        # What was saved of one memory, by its counter of writes.
        self.of_memory: dict[Counter, weakref.WeakSet[_Kept]] = {}

    @property
    def tid_to_weakhandle(self) -> dict[tuple[int, int], _Kept]:
        """All that stands for a tensor, by identity and version."""
        return {(id(kept), kept.version): kept for kept in (*self.original, *self.cloned)}

    def clear(self) -> None:
        """Forget all tensors: what was saved here cannot be brought back."""
        self.original.clear()
        self.cloned.clear()
        self.of_memory.clear()

    def pack(self, tensor: Tensor) -> _Kept:
        counter, version = shared_counter(tensor), version_of(tensor)
        saved_before = self.of_memory.setdefault(counter, weakref.WeakSet())
        for kept in saved_before:
            have = self.original.get(kept)
            if have is not None and kept.version == version and have._array is tensor._array:
                return kept
        kept = _Kept(version)
        # Without history: what a node keeps must not lead back to it.
        self.original[kept] = tensor._alias()
        saved_before.add(kept)
        return kept

    def unpack(self, kept: _Kept) -> Tensor:
        found = self.cloned.get(kept)
        found = self.original.get(kept) if found is None else found
        if found is None or not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return found

    def before_write(self, tensor: Tensor) -> None:
        """Copy what was saved of this memory."""
        for kept in self.of_memory.pop(shared_counter(tensor), ()):
            have = self.original.pop(kept, None)
            if have is not None:
                backend = have._backend.real
                self.cloned[kept] = wrap(backend.copy(have._array), have.dtype, backend)


class allow_mutation_on_saved_tensors(Context, contextlib.ContextDecorator):
    """Inside, tensors saved for backward may be written to: they are copied just before.

    Both forward and backward must run inside. What it gives holds the tensors saved (`original`, and `cloned` for
    those written to since) until the end.
    """

    def _take(self, state: State) -> tuple[_SavedBeforeWrites, tuple[Any, ...]]:
        if _SavedBeforeWrites.open:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        return _SavedBeforeWrites(), state.mode.saved_hooks

    def _set(self, state: State, kept: tuple[_SavedBeforeWrites, tuple[Any, ...]]) -> _SavedBeforeWrites:
        saved, _ = kept
        state.mode = _with_hooks(state.mode, saved.pack, saved.unpack, saved.before_write)
        _SavedBeforeWrites.open = True
        return saved

    def _put(self, state: State, kept: tuple[_SavedBeforeWrites, tuple[Any, ...]]) -> None:
        saved, hooks = kept
        state.mode = state.mode.but(saved_hooks=hooks)
        _SavedBeforeWrites.open = False
        saved.clear()


__all__ = [
    "SavedTensor", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "save_on_cpu",
    "saved_tensors_hooks",
]  # fmt: skip

for _hooks in (allow_mutation_on_saved_tensors, disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks):
    bear_name(_hooks, "torch.autograd.graph")
