"""Gradients that are one kernel: backward runs it on arrays, and makes no tensors, where no graph is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.elementwise import Elementwise
from ..core.fast import PRECISE
from ..core.reduction import Along
from ..core.tensor import TensorBase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..core.op import Op

_CONSTANT, _NEEDS = -1, -2  # what is at no place


def gradient_by_kernel(
    op: Op, back: Op, several: bool = False, renamed: Mapping[str, str] | None = None, **constants: Any
) -> None:
    """Let the nodes of `op` run the kernel of `back` at once.

    `back` takes the gradient first, then what nodes of `op` saved, by the names that both have for it (or `renamed`),
    or one of the `constants`; "needs" says which edges want a gradient. It gives the gradient of the one operand that
    has one or, where `several`, those of all.
    """
    names = [p.name for p in back.signature.params[1:]]
    sources = tuple([(_place(op, (renamed or {}).get(name, name)), constants.get(name)) for name in names])
    fitted = isinstance(op, (Elementwise, Along))  # whether gradients may have to be fitted to the operands
    alone = isinstance(op, Along)  # whether `node.operand_forms` speaks of one operand
    kernels = back.kernels

    def on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> Sequence[Any] | None:
        _, dtype, backend = node.output_forms[0]
        saved = node.saved_entries
        if saved.__class__ is not tuple or g.__class__ is not backend.Array or dtype not in PRECISE:
            return None
        if not several and (node.next_edges[0] is None or len(node.next_edges) - node.next_edges.count(None) > 1):
            return None
        shape = None
        if fitted and node.operand_forms is not None:
            form = node.operand_forms if alone else node.operand_forms[0]
            shape = form[0]
            if several or form[1] is not dtype or not shape:
                return None
        backend = backend.real
        count = len(saved)
        arguments = [g]
        for place, constant in sources:
            if place >= count:
                value = node.plain_values[place - count]
            elif place == _CONSTANT:
                value = constant
            elif place == _NEEDS:
                value = [edge is not None for edge in node.next_edges]
            else:
                entry = saved[place]
                if entry.__class__ is tuple:
                    value, version = entry
                    if value.counter is not None and value.counter.n != version:
                        return None  # the general way says what went stale
                else:
                    value = None if entry is None else node.read(entry)
                if isinstance(value, TensorBase):
                    if value.backend.real is not backend or (
                        value.dtype is not dtype and value.dtype.category == dt.FLOAT
                    ):
                        return None
                    value = value.array
            arguments.append(value)
        made = quiet(kernels.get(backend) or back.find_kernel(backend), *arguments)
        if several:
            return made
        return (made,) if shape is None or made.shape == shape else None

    op.node_class.on_arrays = on_arrays  # type: ignore[method-assign]


def _place(op: Op, name: str) -> int:
    """Where nodes keep an argument: in `saved`, after that in `values`."""
    if name == "needs":
        return _NEEDS
    if name in op.saved_names:
        return op.saved_names.index(name)
    return len(op.saved_names) + op.value_names.index(name) if name in op.value_names else _CONSTANT
