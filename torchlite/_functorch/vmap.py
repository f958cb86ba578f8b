"""`torch._functorch.vmap`: the steps of `vmap`, one by one, on levels by their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._C import _functorch
from .._C._functorch import (
    _add_batch_dim,
    _remove_batch_dim,
    _vmap_decrement_nesting,
    _vmap_increment_nesting,
    _vmap_level,
    is_batchedtensor,
)
from ..core.machine import Tensor, TensorBase  # noqa: F401, one is for packages that take it from here
from ..func.mapping import Dims as in_dims_t
from ..func.mapping import _arguments, _check_randomness, _moved_to, _name, _out_dims, _size, _unbatched, vmap
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .eager_transforms import Nesting

__all__ = [
    "TreeSpec", "_add_batch_dim", "_broadcast_to_and_flatten", "_check_randomness_arg", "_create_batched_inputs",
    "_get_name", "_maybe_remove_batch_dim", "_process_batched_inputs", "_remove_batch_dim", "_unwrap_batched",
    "_validate_and_get_batch_size", "_vmap_decrement_nesting", "_vmap_increment_nesting", "get_chunk_sizes",
    "in_dims_t", "is_batchedtensor", "out_dims_t", "restore_vmap", "tree_flatten", "tree_unflatten", "unwrap_batched",
    "vmap_impl", "vmap_increment_nesting", "wrap_batched",
]  # fmt: skip

out_dims_t = int | tuple[int, ...]
_check_randomness_arg = _check_randomness
_get_name = _name


def vmap_impl(
    func: Callable[..., Any], in_dims: Any, out_dims: Any, randomness: str, chunk_size: int | None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    return vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)(*args, **kwargs)


def vmap_increment_nesting(batch_size: int, randomness: str) -> Nesting:
    """Inside, a `vmap` over so many elements runs. What is given is its level."""
    return Nesting(lambda: _vmap_level(batch_size, randomness))


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]
) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """How many elements arguments have; the dimension to map over for each leaf, the leaves, and their structure."""
    leaves, spec, dims = _arguments(func, args, in_dims)
    return _size(leaves, dims), dims, leaves, spec


def _validate_and_get_batch_size(flat_in_dims: Sequence[int | None], flat_args: Sequence[Any]) -> int:
    return _size(flat_args, flat_in_dims)


def _create_batched_inputs(
    flat_in_dims: Sequence[int | None], flat_args: Sequence[Any], vmap_level: int, args_spec: TreeSpec
) -> Any:
    """The arguments with their tensors as batches of a level."""
    found = zip(flat_args, flat_in_dims, strict=True)
    return args_spec.unflatten([v if dim is None else _add_batch_dim(v, dim, vmap_level) for v, dim in found])


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """A result with its batch in a dimension; as it is, where there is to be none."""
    found = _unbatched(name, _functorch._level(vmap_level), batched_output, out_dim)  # type: ignore[arg-type]
    return found if out_dim is None else _moved_to(found, out_dim)


def _unwrap_batched(
    batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Callable[..., Any]
) -> Any:
    """The results with their batches in the dimensions that `out_dims` says."""
    name = _name(func)
    leaves, spec = tree_flatten(batched_outputs)
    dims = _out_dims(name, leaves, spec, out_dims)
    return spec.unflatten([
        _maybe_remove_batch_dim(name, leaf, vmap_level, batch_size, dim)
        for leaf, dim in zip(leaves, dims, strict=True)
    ])  # fmt: skip


def wrap_batched(args: tuple[Any, ...], bdims: Any, level: int) -> Any:
    """Values with those as batches of a level that have a dimension for it."""
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(bdims, spec)
    if dims is None:
        raise ValueError(f"{bdims} does not have the structure of the values, {spec}")
    return _create_batched_inputs(dims, leaves, level, spec)


def unwrap_batched(args: tuple[Any, ...], level: int) -> tuple[Any, Any]:
    """Values with the tensors inside, and in the same structure where their batches lie."""
    leaves, spec = tree_flatten(args)
    found = [_functorch._unwrap_batched(v, level) if isinstance(v, TensorBase) else (v, None) for v in leaves]
    return spec.unflatten([v for v, _ in found]), spec.unflatten([dim for _, dim in found])


def restore_vmap(
    func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str
) -> Callable[..., tuple[Any, Any]]:
    """`func` mapped over batches, giving its results, and where their batches lie."""

    def inner(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with vmap_increment_nesting(batch_size, randomness) as level:
            return unwrap_batched(func(*wrap_batched(args, in_dims, level), **kwargs), level)

    return inner


def get_chunk_sizes(total_elems: int, chunk_size: int) -> list[int]:
    whole, rest = divmod(total_elems, chunk_size)
    return [chunk_size] * whole + ([rest] if rest else [])
