"""`torch._functorch.eager_transforms`: the transforms that differentiate, and their steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._C._functorch import (
    _grad_decrement_nesting,
    _grad_increment_nesting,
    _jvp_decrement_nesting,
    _jvp_increment_nesting,
    _unwrap_for_grad,
    _wrap_for_grad,
    get_inplace_requires_grad_allowed,
    get_unwrapped,
    is_functorch_wrapped_tensor,
    set_inplace_requires_grad_allowed,
)
from ..core.machine import TensorBase
from ..core.state import Context, Holding, State, local
from ..func import debug_unwrap, functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from ..func.arguments import Argnums as argnums_t
from ..func.arguments import chosen, function_of, positions, replaced
from ..func.dual import DualBackend
from ..func.nested import NestedLevel
from ..func.reverse import vjp_by
from ..func.transform import Level
from ..utils._pytree import tree_map

__all__ = [
    "_create_differentiable", "_grad_decrement_nesting", "_grad_increment_nesting", "_jvp_decrement_nesting",
    "_jvp_increment_nesting", "_jvp_with_argnums", "_replace_args", "_slice_argnums", "_undo_create_differentiable",
    "_unwrap_for_grad", "_vjp_with_argnums", "_wrap_all_tensors", "_wrap_for_grad", "_wrap_tensor_for_grad",
    "argnums_t", "debug_unwrap", "enable_inplace_requires_grad", "functionalize", "get_inplace_requires_grad_allowed",
    "get_unwrapped", "grad_and_value_impl", "grad_impl", "grad_increment_nesting", "hessian",
    "is_functorch_wrapped_tensor", "jacfwd", "jacrev", "jvp", "jvp_increment_nesting", "linearize",
    "set_inplace_requires_grad_allowed", "vjp", "vmap",
]  # fmt: skip


def _slice_argnums(args: tuple[Any, ...], argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments to differentiate by."""
    found = chosen(args, positions(argnums, len(args)))
    return (found,) if as_tuple and isinstance(argnums, int) else found


def _replace_args(old_args: tuple[Any, ...], new_args: tuple[Any, ...], argnums: Any) -> tuple[Any, ...]:
    """The arguments with others in the places of those."""
    at = positions(argnums, len(old_args))
    return replaced(old_args, at, new_args[0] if isinstance(at, int) else new_args)


def _vjp_with_argnums(func: Callable[..., Any], *primals: Any, argnums: Any = None, has_aux: bool = False) -> Any:
    """`vjp` by some of the arguments."""
    return vjp_by(func, argnums, primals, has_aux)


def _jvp_with_argnums(
    func: Callable[..., Any], primals: Any, tangents: Any, argnums: Any, *, strict: bool = False, has_aux: bool
) -> Any:
    """`jvp` by some of the arguments, of which there are tangents."""
    if argnums is None:
        return jvp(func, primals, tangents, strict=strict, has_aux=has_aux)
    at = positions(argnums, len(primals))
    moving = chosen(primals, at) if isinstance(at, tuple) else (chosen(primals, at),)
    return jvp(function_of(func, primals, at, {}), moving, tangents, strict=strict, has_aux=has_aux)


def grad_impl(func: Callable[..., Any], argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: Any) -> Any:
    return grad(func, argnums, has_aux)(*args, **kwargs)


def grad_and_value_impl(func: Callable[..., Any], argnums: Any, has_aux: bool, args: Any, kwargs: Any) -> Any:
    return grad_and_value(func, argnums, has_aux)(*args, **kwargs)


# ---- a level by hand


def enable_inplace_requires_grad(enabled: bool) -> Holding:
    """Inside, `requires_grad_` may be called while transforms run, or may not."""
    return Holding(local.state, leaves_allowed=enabled)


class Nesting(Context):
    """Inside, a level runs. What is given is its number."""

    def __init__(self, make: Callable[[], Level]) -> None:
        self.make = make

    def _take(self, state: State) -> tuple[Level, Any]:
        level = self.make()
        return level, level._take(state)

    def _set(self, state: State, kept: tuple[Level, Any]) -> int:
        level, before = kept
        level._set(state, before)
        return level.depth

    def _put(self, state: State, kept: tuple[Level, Any]) -> None:
        level, before = kept
        level._put(state, before)


def grad_increment_nesting() -> Nesting:
    """Inside, a transform runs that differentiates in reverse. What is given is its level."""
    return Nesting(NestedLevel)


def jvp_increment_nesting() -> Nesting:
    """Inside, a transform runs that differentiates forwards. What is given is its level."""
    return Nesting(lambda: Level(DualBackend))


def _wrap_tensor_for_grad(maybe_tensor: Any, level: int) -> Any:
    return _wrap_for_grad(maybe_tensor, level) if isinstance(maybe_tensor, TensorBase) else maybe_tensor


def _wrap_all_tensors(tensor_pytree: Any, level: int) -> Any:
    """All tensors as tensors of a level."""
    return tree_map(lambda v: _wrap_tensor_for_grad(v, level), tensor_pytree)


def _create_differentiable(inps: Any, level: int | None = None) -> Any:
    """Ask for the gradients of tensors of a level."""

    def leaf(v: Any) -> Any:
        if not isinstance(v, TensorBase):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(v)}")
        with enable_inplace_requires_grad(True):
            return v.requires_grad_()

    return tree_map(leaf, inps)


def _undo_create_differentiable(inps: Any, level: int) -> Any:
    """The tensors inside."""
    return tree_map(lambda v: _unwrap_for_grad(v, level) if isinstance(v, TensorBase) else v, inps)
