"""`functorch._src.vmap`."""

from ..._functorch.vmap import (
    _add_batch_dim,
    _broadcast_to_and_flatten,
    _create_batched_inputs,
    _get_name,
    _process_batched_inputs,
    _remove_batch_dim,
    _unwrap_batched,
    _validate_and_get_batch_size,
    tree_flatten,
    tree_unflatten,
)

__all__ = [
    "_add_batch_dim", "_broadcast_to_and_flatten", "_create_batched_inputs", "_get_name", "_process_batched_inputs",
    "_remove_batch_dim", "_unwrap_batched", "_validate_and_get_batch_size", "tree_flatten", "tree_unflatten",
]  # fmt: skip
