"""Hooks on tensors, gradients kept for tensors that are no leaves, and how the engine runs all hooks."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ..core.declare import method
from ..core.machine import Tensor, TensorBase, dispatch, last_edge, needs_dispatch, requires_grad, resolve
from ..core.machine.hooks import Hooks, RemovableHandle, register
from ..core.machine.node import hooks_of
from ..core.state import local
from ..core.values import contiguous_format, type_text


@method("register_hook")
def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call `hook(grad)` when this tensor's gradient is computed; what it returns replaces the gradient."""
    if needs_dispatch((self,), {}):
        return dispatch(register_hook, (self, hook), {})
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    hooks, nr = _hooks_of(self)
    return register(hooks.of_output(nr), hook)


def _hooks_of(t: Tensor) -> tuple[Hooks, int]:
    """The hooks where the gradient of `t` arrives, and under which number."""
    edge = resolve(t)
    edge = t if edge is None else edge
    return (hooks_of(edge[0]), edge[1]) if edge.__class__ is tuple else (edge._more().all_hooks(), 0)


@method("register_post_accumulate_grad_hook")
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(self)` after this leaf's gradient was added to its `.grad`."""
    if needs_dispatch((self,), {}):
        return dispatch(register_post_accumulate_grad_hook, (self, hook), {})
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    extra = self._more()
    if extra.post_hooks is None:
        extra.post_hooks = OrderedDict()
    return register(extra.post_hooks, hook)


@method("retain_grad")
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this tensor, which is no leaf, in its `.grad`."""
    if local.state.levels:
        raise RuntimeError(
            "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch "
            "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
            "jacfwd, hessian) or call retain_grad() outside of a function being transformed instead."
        )
    if not requires_grad(self):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if last_edge(self).__class__ is tuple and not self._more().retains_grad:
        node, nr = resolve(self)
        self._more().retains_grad = True
        hooks_of(node).retain[nr] = weakref.ref(self)


def _retains_grad(self: Tensor) -> bool:
    """Whether backward keeps this tensor's gradient though it is no leaf."""
    return self._extra is not None and self._extra.retains_grad and not self.is_leaf


method("retains_grad")(property(_retains_grad))


def _backward_hooks(self: Tensor) -> OrderedDict[int, Any] | None:
    """The hooks registered on this tensor, or None."""
    if not requires_grad(self):
        return None
    edge = resolve(self)
    if edge.__class__ is tuple:
        hooks, nr = edge[0].node_hooks, edge[1]
    else:
        leaf = self if edge is None else edge
        hooks, nr = None if leaf._extra is None else leaf._extra.hooks, 0
    return None if hooks is None else hooks.tensor_pre.get(nr)


def _set_backward_hooks(self: Tensor, hooks: OrderedDict[int, Any] | None) -> None:
    if requires_grad(self):
        where, nr = _hooks_of(self)
        if hooks is None:
            where.tensor_pre.pop(nr, None)
        else:
            where.tensor_pre[nr] = hooks


method("_backward_hooks")(property(_backward_hooks, _set_backward_hooks))


def _post_accumulate_grad_hooks(self: Tensor) -> OrderedDict[int, Any] | None:
    """The hooks to be called after this leaf's gradient was accumulated, or None."""
    return None if self._extra is None else self._extra.post_hooks


def _set_post_accumulate_grad_hooks(self: Tensor, hooks: OrderedDict[int, Any] | None) -> None:
    self._more().post_hooks = hooks


method("_post_accumulate_grad_hooks")(property(_post_accumulate_grad_hooks, _set_post_accumulate_grad_hooks))


# ---- running them


def _called(hook: Callable[..., Any], *args: Any) -> Any:
    """What a hook gives; it is no part of the formula of the node that runs, of which modes may be told."""
    seer = local.state.mode.seer
    return hook(*args) if seer is None else seer.program(hook, args)


def run_tensor_hooks(hooks: Hooks, grads: list[Any]) -> None:
    """Call the hooks on a node's outputs, which may replace the gradients; those who retain theirs come last."""
    for nr, by_id in hooks.tensor_pre.items():
        for hook in list(by_id.values()):
            grad = grads[nr]
            changed = _called(hook, grad)
            if changed is not None:
                _check_replacement(hook, changed, grad)
                grads[nr] = changed
    for nr, reference in hooks.retain.items():
        tensor = reference()
        if tensor is not None and grads[nr] is not None:
            own = tensor._grad
            tensor._grad = grads[nr].clone(memory_format=contiguous_format) if own is None else own + grads[nr]


def run_post_accumulate_hooks(hooks: OrderedDict[int, Any], leaf: Tensor) -> None:
    """Call the hooks of a leaf whose gradient was accumulated."""
    told = leaf
    for hook in list(hooks.values()):
        changed = _called(hook, told)
        if changed is not None:
            _check_replacement(hook, changed, told)
            told = changed
    if told is not leaf:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def run_pre_hooks(hooks: Hooks, grads: list[Any]) -> list[Any]:
    """Call the hooks that come before a node."""
    for hook in list(hooks.pre.values()):
        changed = _called(hook, tuple(grads))
        if changed is not None:
            grads = _replaced(hook, changed, grads)
    return grads


def run_post_hooks(
    hooks: Hooks, results: Sequence[Any], grads: Sequence[Any], unshown: frozenset[int] = frozenset()
) -> Sequence[Any]:
    """Call the hooks that come after a node. They are told nothing of edges that PyTorch's node does not have."""
    places = [at for at in range(len(results)) if at not in unshown]
    shown = [results[at] for at in places]
    for hook in list(hooks.post.values()):
        changed = _called(hook, tuple(shown), tuple(grads))
        if changed is not None:
            shown = _replaced(hook, changed, shown)
    told = dict(zip(places, shown))
    return [told.get(at, result) for at, result in enumerate(results)]


def _replaced(hook: Callable[..., Any], changed: Any, former: Sequence[Any]) -> list[Any]:
    """The gradients a hook returned in place of the former ones."""
    if not isinstance(changed, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(changed).__name__}'")
    if len(changed) != len(former):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(changed)}, but expected "
            f"{len(former)})"
        )
    for new, old in zip(changed, former, strict=True):
        _check_replacement(hook, new, old)
    return list(changed)


def _check_replacement(hook: Callable[..., Any], changed: Any, grad: Any) -> None:
    """Refuse a gradient of another kind than the one it is to replace."""
    if changed is None:
        return
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(changed, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    was, got = [type_text(t.dtype, t.device) for t in (grad, changed)]
    if was != got:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {was} got {got})")
    if changed._backend.home is not grad._backend.home:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the device of value")
    if changed._array.shape != grad._array.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", None) or type(hook).__name__
