"""Hooks on tensors, and gradients kept for tensors that are no leaves."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..core.node import RemovableHandle
from ..core.publish import method
from ..core.tensor import Tensor
from ..core.view import last_edge, requires_grad, resolve

if TYPE_CHECKING:
    from collections.abc import Callable


@method("register_hook")
def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call `hook(grad)` when this tensor's gradient is computed; what it returns replaces the gradient."""
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    edge = resolve(self)
    if edge.__class__ is not tuple:
        return RemovableHandle(self.more().hooks, hook)
    node, nr = edge
    return RemovableHandle(node.more().tensor_pre.setdefault(nr, {}), hook)


@method("register_post_accumulate_grad_hook")
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(self)` after this leaf's gradient was added to its `.grad`."""
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return RemovableHandle(self.more().post_hooks, hook)


@method("retain_grad")
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this tensor, which is no leaf, in its `.grad`."""
    if not requires_grad(self):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if last_edge(self).__class__ is tuple:
        node, nr = resolve(self)
        self.more().retains_grad = True
        node.more().retain[nr] = weakref.ref(self)


def _retains_grad(self: Tensor) -> bool:
    """Whether backward keeps this tensor's gradient though it is no leaf."""
    return self.extra is not None and self.extra.retains_grad and not self.is_leaf


Tensor.retains_grad = property(_retains_grad)  # type: ignore[attr-defined]
