"""Calls of modules as stretches of a profile, named as PyTorch's traces name them: `nn.Module: Linear_0`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from .profiler import Recorder
    from .profiler_util import FunctionEvent


class ModuleWatch:
    """Records calls of modules, from when it is made until `remove`, in the profile of a recorder's thread."""

    def __init__(self, recorder: Recorder) -> None:
        from ..nn.modules import module_hooks

        self.recorder = recorder
        self.names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self.counts: Counter[str] = Counter()
        self.open: list[tuple[Any, FunctionEvent]] = []
        self.handles = (
            module_hooks.register_module_forward_pre_hook(self.enter),
            module_hooks.register_module_forward_hook(self.leave, always_call=True),
        )

    def enter(self, module: Any, args: tuple[Any, ...]) -> None:
        if self.recorder.listens():
            self.open.append((module, self.recorder.begin(self.name(module), annotation=True)))

    def leave(self, module: Any, args: tuple[Any, ...], result: Any) -> None:
        if self.open and self.open[-1][0] is module and self.recorder.listens():
            self.recorder.end(self.open.pop()[1])

    def name(self, module: Any) -> str:
        """The class of a module, and its number among the called modules of that class."""
        if module not in self.names:
            kind = type(module).__name__
            self.names[module] = f"nn.Module: {kind}_{self.counts[kind]}"
            self.counts[kind] += 1
        return self.names[module]

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()
