"""What the transforms have in common about arguments: which of them to differentiate by, and what they may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.machine import TensorBase
from ..utils._pytree import tree_flatten

if TYPE_CHECKING:
    from ..core.machine import Tensor
    from ..utils._pytree import TreeSpec

Argnums = int | tuple[int, ...]


def chosen(args: tuple[Any, ...], argnums: Any) -> Any:
    """The arguments to differentiate by: one, or a tuple of them."""
    return args[argnums] if isinstance(argnums, int) else tuple([args[n] for n in argnums])


def positions(argnums: Any, count: int) -> Any:
    """`argnums` counted from the start, where there are `count` positional arguments."""
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        return _position(argnums, count)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    found = tuple([_position(n, count) for n in argnums])
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def _position(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def replaced(args: tuple[Any, ...], argnums: Any, values: Any) -> tuple[Any, ...]:
    """The arguments with others in the chosen places."""
    found = list(args)
    for n, value in [(argnums, values)] if isinstance(argnums, int) else zip(argnums, values, strict=True):
        found[n] = value
    return tuple(found)


def function_of(func: Callable[..., Any], args: tuple[Any, ...], argnums: Any, kwargs: Any) -> Callable[..., Any]:
    """`func` as a function of the chosen arguments alone, each by itself."""

    def of_chosen(*values: Any) -> Any:
        return func(*replaced(args, argnums, values[0] if isinstance(argnums, int) else values), **kwargs)

    return of_chosen


def tensors(value: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of arguments that are to be differentiated by."""
    leaves, spec = tree_flatten(value)
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
    return leaves, spec


def with_aux(outputs: Any, where: str) -> tuple[Any, Any]:
    """The pair that a function with `has_aux` returns."""
    if not (isinstance(outputs, tuple) and len(outputs) == 2):
        raise RuntimeError(f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return outputs


def inside_of(level: Any, value: Any) -> Any:
    """The auxiliary results of a function, on tensors of the level below."""
    leaves, spec = tree_flatten(value)
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return spec.unflatten([level.inside(leaf) for leaf in leaves])


def results_of(outputs: Any, level: Any, has_aux: bool, where: str) -> tuple[list[Tensor], TreeSpec, tuple[Any, ...]]:
    """What a function returned at a level: tensors, their form, and its auxiliary results, if it has any."""
    aux: tuple[Any, ...] = ()
    if has_aux:
        outputs, more = with_aux(outputs, where)
        aux = (inside_of(level, more),)
    leaves, form = tree_flatten(outputs)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(f"{where}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            kind = type(leaf)
            raise RuntimeError(f"{where}: expected f(*primals) to return only tensors, got unsupported type {kind}")
    return leaves, form, aux
