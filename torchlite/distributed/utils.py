"""Making modules the same in all processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor
from ..utils.lists_of_tensors import _flatten_dense_tensors, _take_tensors, _unflatten_dense_tensors
from .collectives import broadcast
from .objects import all_gather_object

__all__ = ["_sync_module_states", "_sync_params_and_buffers", "_verify_param_shape_across_processes"]

_AT_ONCE = 250 << 20  # bytes that are broadcast at once


def _broadcast_coalesced(group: Any, tensors: Sequence[Tensor], size: int, root: int = 0) -> None:
    """Give the tensors of one process to all, so many bytes at once; graphs that hold them are none the wiser."""
    with no_grad():
        for part in _take_tensors(tensors, size):
            if len(part) == 1 and part[0].is_contiguous():
                broadcast(part[0].data, group=group, group_src=root)
                continue
            flat = _flatten_dense_tensors([tensor.detach() for tensor in part])
            broadcast(flat, group=group, group_src=root)
            for tensor, piece in zip(part, _unflatten_dense_tensors(flat, part)):
                tensor.data.copy_(piece)


def _sync_params_and_buffers(
    process_group: Any, module_states: list[Tensor], broadcast_bucket_size: int = _AT_ONCE, src: int = 0
) -> None:
    """Give the tensors of one process to all."""
    if module_states:
        _broadcast_coalesced(process_group, module_states, broadcast_bucket_size, src)


def _sync_module_states(
    module: Any, process_group: Any, broadcast_bucket_size: int = _AT_ONCE, src: int = 0,
    params_and_buffers_to_ignore: Any = (), broadcast_buffers: bool = True,
) -> None:  # fmt: skip
    """Give the parameters and buffers of one process's module to all."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    states = [tensor.detach() for name, tensor in named if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, states, broadcast_bucket_size, src)


def _verify_param_shape_across_processes(process_group: Any, tensors: Sequence[Tensor], logger: Any = None) -> None:
    """Refuse parameters that are not as those of the other processes are."""
    own = [(list(tensor.shape), list(tensor.stride())) for tensor in tensors]
    everyones: list[Any] = [None] * process_group.size()
    all_gather_object(everyones, own, process_group)
    rank = process_group.rank()
    for other, theirs in enumerate(everyones):
        if len(theirs) != len(own):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {rank} has {len(own)} params, while rank {other} "
                f"has inconsistent {len(theirs)} params."
            )
        for at, (mine, others) in enumerate(zip(own, theirs)):
            for what, this, that in zip(("sizes", "strides"), mine, others):
                if this != that:
                    raise RuntimeError(
                        f"[{rank}]: params[{at}] in this process with {what} {this} appears not to match {what} of the "
                        f"same param in process {other}."
                    )
