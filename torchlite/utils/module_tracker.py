"""`torch.utils.module_tracker`: which modules are being run, forward or backward."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from ..autograd.current_pass import _current_graph_task_id
from ..autograd.graph import register_multi_grad_hook
from ..autograd.variable import Variable
from ..core.machine import Tensor
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

if TYPE_CHECKING:
    from ..nn.modules.module import Module

__all__ = ["ModuleTracker"]

_log = logging.getLogger(__name__)


class ModuleTracker:
    """Inside a `with`, keeps in `parents` the names of all modules that are being run, and "Global".

    A module called by no other is named by its class, one within another "Outer.name".
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._known_modules: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._has_callback = False
        self._hooks: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is under way."""
        return _current_graph_task_id() != -1

    def __enter__(self) -> Self:
        self._handles = (
            register_module_forward_pre_hook(self._fw_pre_hook),
            register_module_forward_hook(self._fw_post_hook, always_call=True),
        )
        return self

    def __exit__(self, *_: object) -> None:
        for handle in (*self._handles, *self._hooks):
            handle.remove()
        self._hooks.clear()

    def _get_mod_name(self, mod: Module) -> str:
        if mod not in self._known_modules:
            self._known_modules[mod] = type(mod).__name__
        name = self._known_modules[mod]
        for child, module in mod.named_children():
            if module not in self._known_modules:
                self._known_modules[module] = f"{name}.{child}"
                self._get_mod_name(module)
        return name

    def _enter(self, name: str) -> None:
        if self.is_bw and not self._has_callback:
            # What a backward pass enters it may never leave: where no gradient reaches the inputs.
            Variable._execution_engine.queue_callback(self._leave_all)
            self._has_callback = True
        if name in self.parents:
            _log.info("The module %s is entered again before it is left", name)
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        if name not in self.parents:
            _log.info("The module %s is left, but was not entered", name)
        self.parents.discard(name)

    def _leave_all(self) -> None:
        self.parents = {"Global"}
        self._has_callback = False

    def _when_reached(self, values: Any, call: Callable[[str], None], name: str) -> None:
        """Have `call` called when a backward pass has the gradients of what requires one."""
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, lambda _: call(name)))

    def _fw_pre_hook(self, mod: Module, input: Any) -> None:
        name = self._get_mod_name(mod)
        self._enter(name)
        self._when_reached(input, self._leave, name)

    def _fw_post_hook(self, mod: Module, input: Any, output: Any) -> None:
        name = self._get_mod_name(mod)
        self._leave(name)
        self._when_reached(output, self._enter, name)
