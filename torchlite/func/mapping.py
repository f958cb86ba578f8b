"""`vmap`: a function of elements as a function of batches."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.machine import TensorBase
from ..core.values import wrap_dim
from ..core.values.layout import COMPRESSED
from ..operations.shapes.joining import cat
from ..random import get_rng_state, set_rng_state
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten
from .batched import Batched, BatchLevel

if TYPE_CHECKING:
    from ..utils._pytree import TreeSpec

Dims = int | None | tuple[Any, ...] | list[Any] | dict[Any, Any]


def vmap(
    func: Callable[..., Any], in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function that maps `func` over a dimension of its arguments.

    `in_dims` says which dimension of each tensor that is (None for a tensor that is the same for all), `out_dims`
    where it goes in the results. Both are one int, or a structure of them like that of the arguments or results.
    `randomness` says whether random operations draw "different" numbers for every element, the "same" ones for all, or
    are an "error". With `chunk_size`, no more than so many elements are computed at once.
    """
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    _check_randomness(randomness)

    @functools.wraps(func)
    def of_batches(*args: Any, **kwargs: Any) -> Any:
        return mapped(func, args, kwargs, in_dims, out_dims, randomness, chunk_size)

    return of_batches


def mapped(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, in_dims: Dims = 0,
    out_dims: Dims = 0, randomness: str = "error", chunk_size: int | None = None,
) -> Any:  # fmt: skip
    """The results of `vmap` of a function on these arguments."""
    batch = _Batch(func, args, kwargs or {}, in_dims)
    if chunk_size is None or batch.size <= chunk_size:
        leaves, form, dims = batch.run(out_dims, randomness)
    else:
        leaves, form, dims = _in_chunks(batch.split(chunk_size), out_dims, randomness)
    return form.unflatten([t if d is None else _moved_to(t, d) for t, d in zip(leaves, dims, strict=True)])


class _Batch:
    """A function, and arguments to map it over."""

    def __init__(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], in_dims: Any) -> None:
        self.func = func
        self.leaves, self.form, self.dims = _arguments(func, args, in_dims)
        self.kwargs = kwargs
        self.size = _size(self.leaves, self.dims)

    def split(self, chunk_size: int) -> list[_Batch]:
        """The same for so many elements at a time."""
        parts = [
            itertools.repeat(leaf) if dim is None else leaf.split(chunk_size, dim)
            for leaf, dim in zip(self.leaves, self.dims, strict=True)
        ]
        chunks = []
        for leaves in zip(*parts):  # those that are the same for all never end
            chunk = copy.copy(self)
            chunk.leaves = list(leaves)
            chunk.size = _size(leaves, self.dims)
            chunks.append(chunk)
        return chunks

    def run(self, out_dims: Any, randomness: str) -> tuple[list[Any], TreeSpec, list[int | None]]:
        """The results, flat, with the batch in front of those that have one, and where it shall go."""
        level = BatchLevel(self.size, randomness)
        for leaf, dim in zip(self.leaves, self.dims, strict=True):
            if dim is not None and leaf._backend.layout in COMPRESSED:
                leaf.stride()  # which they have not
        with level:
            given = [
                leaf if dim is None else level.wrap(Batched(leaf, dim))
                for leaf, dim in zip(self.leaves, self.dims, strict=True)
            ]
            outputs = self.func(*self.form.unflatten(given), **self.kwargs)
            leaves, form = tree_flatten(outputs)
            name = _name(self.func)
            dims = _out_dims(name, leaves, form, out_dims)
            found = [_unbatched(name, level, t, dim) for t, dim in zip(leaves, dims, strict=True)]
        return found, form, dims


def _in_chunks(chunks: Sequence[_Batch], out_dims: Any, randomness: str) -> tuple[Any, ...]:
    state = get_rng_state() if randomness == "same" else None
    found = []
    for chunk in chunks:
        if state is not None:
            set_rng_state(state)
        found.append(chunk.run(out_dims, randomness))
    columns = zip(*[leaves for leaves, _, _ in found], strict=True)
    _, form, dims = found[0]
    joined = [column[0] if d is None else cat.apply(column, 0) for column, d in zip(columns, dims, strict=True)]
    return joined, form, dims


def _check_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def _name(func: Callable[..., Any]) -> str:
    if isinstance(func, functools.partial):
        return f"functools.partial({_name(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def _arguments(func: Callable[..., Any], args: tuple[Any, ...], in_dims: Any) -> tuple[list[Any], TreeSpec, list[Any]]:
    """The leaves of the arguments, their structure, and the dimension to map over for each."""
    where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    leaves, form = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, form)
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {form}."
        )
    for at, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, TensorBase):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} "
                f"so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        dims[at] = dim % leaf.dim()
    return leaves, form, dims


def _size(leaves: Sequence[Any], dims: Sequence[Any]) -> int:
    """The size of the batch that arguments are mapped over."""
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]


def _out_dims(name: str, leaves: Sequence[Any], form: TreeSpec, out_dims: Any) -> list[int | None]:
    """The `out_dims` of each result."""
    if not all([isinstance(dim, int) or dim is None for dim in tree_flatten(out_dims)[0]]):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    dims = _broadcast_to_and_flatten(out_dims, form)
    if dims is None and isinstance(out_dims, (tuple, list)) and len(out_dims) == len(leaves) == 1:
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {form}."
        )
    return dims


def _unbatched(name: str, level: BatchLevel, value: Any, dim: int | None) -> Any:
    array = level.array_of(value)
    if dim is None:
        if array is not None:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return value
    if not isinstance(value, TensorBase):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    wrap_dim(dim, value.dim() + 1)
    return value.expand((level.size, *value.shape)) if array is None else array.front()


def _moved_to(t: Any, dim: int) -> Any:
    """A result with the batch where it is wanted."""
    to = wrap_dim(dim, t.dim())
    return t if to == 0 else t.movedim(0, to)
