"""Gradients that are one kernel: backward runs it on arrays, and makes no tensors, where no graph is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.declare import By
from ..core.machine import PRECISE, Node, fetch

if TYPE_CHECKING:
    from ..core.declare import Op


def by_kernel(op: Op) -> Callable[..., Any]:
    """`on_arrays=` of an op whose derivative is an op: its nodes run the kernel of that at once."""
    rule = op.joint or op.rules[0][1]
    assert isinstance(rule.said, By)
    return _by_kernel(op, rule.said, op.joint is not None)


def by_kernel_of(back: Op, several: bool = False, **words: Any) -> Callable[[Op], Callable[..., Any]]:
    """The same of another derivative, which comes to the op `back` where no graph is asked for.

    What that takes is said as in `By`; "needs" says which edges want a gradient. It gives the gradient of the one
    operand that has one or, where `several`, those of all.
    """
    return lambda op: _by_kernel(op, By(back, **words), several)


def _lie_alike(g: Any, arguments: Sequence[Any]) -> bool:
    """Whether the arrays of the gradient's shape are laid in one way, or row by row where they are not expanded."""
    arrays = [a for a in arguments if a.__class__ is g.__class__ and a.shape == g.shape]
    return len({a.strides for a in arrays}) == 1 or all([a.flags.c_contiguous or 0 in a.strides for a in arrays])


def _by_kernel(op: Op, by: By, several: bool) -> Callable[..., Any]:
    back: Any = by.op
    names = [p.name for p in back.signature.params]
    kept = (*op.saved_names, *op.value_names)
    asked = [(at, by.renamed.get(name, name)) for at, name in enumerate(names)]
    places = tuple([(at, kept.index(name)) for at, name in asked if name in kept])
    blank = [by.fixed.get(name) for name in names]
    needs = next((at for at, name in asked if name == "needs"), 0)
    alone = op.fits_one
    kernels = back.kernels
    arranges = "arranged" in vars(back)

    def on_arrays(node: Node, g: Any, quiet: Callable[..., Any]) -> Sequence[Any] | None:
        _, dtype, backend = node.output_forms[0]
        if g.__class__ is not backend.Array or dtype not in PRECISE:
            return None
        edges = node.next_edges
        if not several and (edges[0] is None or any([e is not None for e in edges[1:]])):
            return None
        shape = None
        if node.operand_forms is not None:
            form = node.operand_forms if alone else node.operand_forms[0]
            shape = form[0]
            if several or form[1] is not dtype or not shape:
                return None
        backend = backend.real
        arguments = blank.copy()
        if not fetch(node, places, arguments, backend, dtype):
            return None
        if needs:
            arguments[needs] = [edge is not None for edge in edges]
        arguments[0] = g
        if arranges and backend.strided and not _lie_alike(g, arguments):
            return None  # the general way lays what it makes
        made = quiet(kernels.get(backend) or back.find_kernel(backend), *arguments)
        if several:
            return made
        return (made,) if shape is None or made.shape == shape else None

    return on_arrays
