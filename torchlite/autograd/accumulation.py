"""How gradients are added to a leaf's `.grad`."""

from __future__ import annotations

import threading
from operator import iadd
from typing import Any

from ..core.declare import method
from ..core.machine import LEAF, Tensor, bump, form_of, last_edge, moves, wrap
from ..core.state import local
from ..core.values import contiguous_format, is_dense, sparse_coo, strided

_accumulating = threading.RLock()


def as_tensor(value: Any, form: Any) -> Any:
    """A gradient as a tensor; an array that does not lie by rows shows it by having a base."""
    if value is None or isinstance(value, Tensor):
        return value
    backend = form[2]
    array = value if value.__class__ is backend.Array else backend.asarray(value)
    by_rows = not backend.strided or array.base is not None or array.flags.c_contiguous
    return wrap(array if by_rows else array[...], form[1], backend)


@method("_accumulate_grad")
def accumulate_into(leaf: Tensor, grad: Any, create_graph: bool = False, owned: bool = False) -> None:
    """Add to `leaf.grad`. What is `owned`, and lies in memory as the leaf does or is sparse, is taken over."""
    if leaf._edge is not LEAF and not _still_leaf(leaf):
        return
    try:
        with _accumulating:
            have = leaf._grad
            if isinstance(grad, Tensor):
                if have is None:
                    taken = owned and (grad.layout is sparse_coo or grad.stride() == leaf.stride())
                    made = grad if taken else _laid_out_like(grad, leaf, create_graph)
                    leaf._grad = made if create_graph or not (taken or made is grad or moves(made)) else made.detach()
                elif have.layout is not strided and grad.layout is strided:
                    leaf._grad = grad + have
                else:
                    leaf._grad = have + grad if create_graph else have.add_(grad)
            elif have is not None:
                if have.__class__ is Tensor and have._backend.bare and have.dtype is leaf.dtype and have._edge is None:
                    local.state.quiet(iadd, have._array, grad)
                    bump(have)
                elif have._backend.layout is not strided:
                    leaf._grad = wrap(grad, leaf.dtype, leaf._backend.home) + have
                else:
                    have.add_(wrap(grad, leaf.dtype, leaf._backend.home))
            else:
                t = as_tensor(grad, form_of(leaf))
                leaf._grad = t if owned and grad.strides == leaf._array.strides else _laid_out_like(t, leaf)
    except BaseException:
        try:
            _accumulating.release()  # which only an exception at the end of the `with` finds held
        except RuntimeError:
            pass
        raise


def _still_leaf(leaf: Tensor) -> bool:
    """Whether what was a leaf that requires grad when an edge to it was recorded is still one."""
    edge = last_edge(leaf)
    if edge.__class__ is tuple:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    return edge is not None


def _laid_out_like(grad: Tensor, leaf: Tensor, graph: bool = False) -> Tensor:
    """A copy of a gradient that lies as its leaf does, if that is dense: memory that was written to once."""
    if grad.layout is not strided:
        return grad if graph else grad.clone()
    if not graph and grad._array.strides == leaf._array.strides and leaf._array.flags.c_contiguous:
        copy = grad.clone()
        bump(copy)
        return copy
    if not leaf._backend.shows or not is_dense(leaf._array.shape, leaf.stride()):
        return grad.clone(memory_format=contiguous_format)
    copy = grad.new_empty_strided(
        tuple(leaf._array.shape), leaf.stride(), dtype=grad.dtype, layout=grad.layout, device=grad.device
    )
    copy.copy_(grad)
    return copy
