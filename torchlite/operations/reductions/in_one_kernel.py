"""Gradients of reductions on devices that run a formula as one kernel; elsewhere derivatives on tensors are as good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.machine import PRECISE, Node, fetch
from ...core.values import dt

_KNOWN = frozenset(PRECISE) | dt.HALVES


def in_one_kernel(rule: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    """`on_arrays=` of a reduction: `rule(follow, backend, g, shape, axes, …)`, or None where it does not know how.

    `follow` runs a formula as one kernel; `shape` is the operand's. The other parameters are named as in a derivative;
    gradients and results keep the dimensions that were reduced.
    """
    names = rule.__code__.co_varnames[5 : rule.__code__.co_argcount]

    def of(op: Any) -> Callable[..., Any]:
        known = (*op.saved_names, *op.value_names)
        places = [(at, known.index(name)) for at, name in enumerate(names)]
        result = names.index("result") if "result" in names else None

        def on_arrays(node: Node, g: Any, quiet: Callable[..., Any]) -> Sequence[Any] | None:
            _, dtype, backend = node.output_forms[0]
            shape, of_operand, lost = node.operand_forms
            if backend.follow is None or g.__class__ is not backend.Array or dtype not in _KNOWN:
                return None
            arguments: list[Any] = [None] * len(places)
            if of_operand is not dtype or 0 in (shape or (0,)) or not fetch(node, places, arguments, backend, dtype):
                return None
            kept = _kept(g.shape, shape, lost)
            if result is not None:
                arguments[result] = arguments[result].reshape(kept)
            axes = tuple([d for d, (n, left) in enumerate(zip(shape, kept)) if n != left])
            made = quiet(rule, backend.follow, backend, g.reshape(kept), shape, axes, *arguments)
            return None if made is None else (made,)

        return on_arrays

    return of


def _kept(reduced: tuple[int, ...], shape: tuple[int, ...], lost: Sequence[int]) -> tuple[int, ...]:
    """The shape of a result with the dimensions that it has lost."""
    if len(reduced) == len(shape):
        return reduced
    gone = {d % len(shape) for d in lost or range(len(shape))}
    return tuple([1 if d in gone else n for d, n in enumerate(shape)])


def sums_of(dtype: Any) -> Any:
    """The type in which a formula is given sums of such numbers."""
    known = dt.of_numpy(dtype)
    return dt.WIDE.get(known, known).numpy
